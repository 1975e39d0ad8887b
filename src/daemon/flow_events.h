// Passes what the flow reports to all who want to hear of it: the operator (LogReporter), and whoever counts messages.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/time.h"
#include "daemon/held_queues.h"
#include "relay/reporter.h"
#include "telemetry/faults.h"
#include "telemetry/log.h"
#include "telemetry/log_reporter.h"
#include "telemetry/stats.h"

namespace retryd::daemon {

/// Belongs to one session: what the session knew of the broker is forgotten when it is destroyed.
class FlowEvents : public relay::Reporter {
  public:
    /// All of them must outlive it. `stats` is null where no numbers are served.
    FlowEvents(telemetry::Log& log, telemetry::Faults& faults, telemetry::MessageStats* stats, HeldQueues& held)
        : log_(log, faults), stats_(stats), held_(held) {}
    ~FlowEvents() override {
        in_flight(0);
        oldest_unsettled({});
    }
    FlowEvents(const FlowEvents&) = delete;
    FlowEvents& operator=(const FlowEvents&) = delete;

    /// What the log has held back and is not going to tell with another line. Cheap where there is nothing.
    void tell_held_back(core::SteadyTime now) { log_.tell_held_back(now); }
    /// Counts there from now on; null: nowhere.
    void count_with(telemetry::MessageStats* stats) { stats_ = stats; }
    void tick(core::SteadyTime now) { log_.tick(now); }
    void oldest_unsettled(core::Milliseconds age) {
        if (stats_ != nullptr) stats_->oldest_unsettled(age);
    }
    void in_flight(std::size_t messages) {
        if (stats_ != nullptr) stats_->in_flight(messages);
    }

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void parked_before(std::string_view exchange) override;
    void unroutable(std::string_view exchange, std::string_view routing_key) override;
    void silent(const relay::TargetName& target) override;
    void requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) override;
    void refused(relay::Role role, std::string_view name, std::string_view why) override;
    void healed(relay::Role role, std::string_view name) override;

  private:
    telemetry::LogReporter log_;
    telemetry::MessageStats* stats_;
    HeldQueues& held_;
};

}  // namespace retryd::daemon
