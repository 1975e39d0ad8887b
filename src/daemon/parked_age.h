// Parked messages that are older than their entry allows: now and then they are taken out, in a thread that lasts as
// long as one look.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/aged.h"
#include "amqp/background.h"
#include "config/settings.h"
#include "core/time.h"
#include "daemon/side_thread.h"
#include "telemetry/faults.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace retryd::daemon {

/// Takes them out, once; throws nothing but std::exception. `before`: what the last run has left for it. Handed in by
/// main: the command line knows how. Ends soon, in order, once `go_on` says no.
using AgeOut = std::function<admin::AgeRun(const config::Settings&, const config::Endpoint&, admin::AgeMemory before,
                                           const std::function<bool()>& go_on)>;

/// No more than a look a minute. tick() is one thread's; counts() may be called by any.
class ParkedAge {
  public:
    /// `log` and `faults` must outlive it.
    ParkedAge(AgeOut age_out, telemetry::Log& log, telemetry::Faults& faults);
    ~ParkedAge();
    ParkedAge(const ParkedAge&) = delete;
    ParkedAge& operator=(const ParkedAge&) = delete;

    /// `target`: the broker that is relayed on; none: there is nobody to ask. Waits for nothing.
    void tick(const std::optional<BrokerTarget>& target, core::SteadyTime now);

    /// Whether a look is under way, or has ended and the next tick() will tell what it found.
    bool looking() const { return looking_ != nullptr; }

    /// The process ends: a look that is under way ends in order within a second, and what it has taken out is told.
    void end();

    /// Messages so far, by parking queue and what became of them.
    std::vector<telemetry::AgedCount> counts() const;

  private:
    using Looking = amqp::Background<admin::AgeRun>;

    void follow(const std::optional<BrokerTarget>& target, core::SteadyTime now);
    void begin(const BrokerTarget& target, core::SteadyTime now);
    void finish(core::SteadyTime now);
    void all_due(core::SteadyTime now);
    void report_faults(const admin::AgeRun& run);
    void raise_known();
    void report_taken_out(const admin::AgedQueue& queue);
    void report_fault(const std::string& key, const std::string& text, std::map<std::string, std::string>& now);

    AgeOut age_out_;
    telemetry::Log& log_;
    telemetry::Faults& faults_;
    std::optional<BrokerTarget> target_;
    std::shared_ptr<const config::Settings> settings_;  // of the last target
    admin::AgeMemory memory_;
    core::SteadyTime due_{};
    std::shared_ptr<std::atomic<bool>> go_on_;
    std::unique_ptr<Looking> looking_;
    std::map<std::string, std::string> known_faults_;  // by parking queue
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
};

}  // namespace retryd::daemon
