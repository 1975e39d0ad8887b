// Takes out parked messages that are older than their entry allows (`parked_age`): each pass runs in a thread of its
// own that ends with it.
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

/// Makes one pass; throws nothing but std::exception. `before`: what the last pass has left for this one. Ends soon and
/// cleanly once `go_on` returns false. Handed in by main, because the daemon may not include the commands.
using AgeOut = std::function<admin::AgeRun(const config::Settings&, const config::Endpoint&, admin::AgeMemory before,
                                           const std::function<bool()>& go_on)>;

/// At most one pass a minute. Only one thread may call tick(); any thread may call counts().
class ParkedAge {
  public:
    /// `log` and `faults` must outlive it.
    ParkedAge(AgeOut age_out, telemetry::Log& log, telemetry::Faults& faults);
    ~ParkedAge();
    ParkedAge(const ParkedAge&) = delete;
    ParkedAge& operator=(const ParkedAge&) = delete;

    /// `target`: the connected broker; none: not connected. Does not block.
    void tick(const std::optional<BrokerTarget>& target, core::SteadyTime now);

    /// Whether a pass is running, or has ended and the next tick() will report its result.
    bool looking() const { return looking_ != nullptr; }

    /// Call when the process ends: a running pass ends cleanly within a second, and what it has taken out is reported.
    void end();

    /// The number of messages so far, by parking queue and outcome.
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
