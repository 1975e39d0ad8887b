// Everyone who wants to hear of the flow, behind one relay::Reporter: the log, what is counted, what lasts.
#pragma once

#include <set>
#include <string>

#include "daemon/state.h"
#include "telemetry/log_reporter.h"
#include "telemetry/stats.h"

namespace retryd::daemon {

/// One session's: what it knew of the broker ends with it.
class FlowEvents : public relay::Reporter {
  public:
    /// All of them must outlive it. `tally` is null where nobody asks for numbers.
    FlowEvents(telemetry::Log& log, DaemonState& state, telemetry::MessageStats* stats)
        : log_(log), state_(state), stats_(stats) {}
    ~FlowEvents() override;
    FlowEvents(const FlowEvents&) = delete;
    FlowEvents& operator=(const FlowEvents&) = delete;

    void count_with(telemetry::MessageStats* stats) { stats_ = stats; }
    void in_flight(std::size_t messages) {
        if (stats_ != nullptr) stats_->in_flight(messages);
    }

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void requeued(relay::Role role, std::string_view target, relay::RequeueCause cause,
                  core::Milliseconds delay) override;
    void refused(relay::Role role, std::string_view name, std::string_view why) override;
    void healed(relay::Role role, std::string_view name) override;

  private:
    void recovered(std::string_view target);

    telemetry::LogReporter log_;
    DaemonState& state_;
    telemetry::MessageStats* stats_;
    std::set<std::string, std::less<>> lasting_;
    std::set<std::string, std::less<>> failing_;  // targets that do not take messages at the moment
};

}  // namespace retryd::daemon
