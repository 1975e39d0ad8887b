// What the flow reports, told to the operator: in the log, and in the list of faults that the status page shows.
//
// A single message is a line at debug; that messages begin to fail or to be parked is a line of its own. A fault that
// lasts is one line when it begins and one when it is over, and stands in the list of faults in between: this is the
// one place that knows which targets fail at the moment. What happens to single messages and yet has to be told
// (`dead_lettered`, `stuck`) is a line a minute at most.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/time.h"
#include "relay/reporter.h"
#include "system/clock.h"
#include "telemetry/failing_queues.h"
#include "telemetry/faults.h"
#include "telemetry/log.h"
#include "telemetry/parking_log.h"

namespace retryd::telemetry {

/// Lets one line of a kind through a minute, and counts what it held back meanwhile.
class LogRateLimiter {
  public:
    /// Nothing: the line is held back. Otherwise it may be written, and so many were held back since the last one.
    std::optional<std::int64_t> allow(const std::string& kind, core::SteadyTime now);

  private:
    struct Kind {
        core::SteadyTime written{};
        std::int64_t held_back = 0;
    };
    std::map<std::string, Kind> kinds_;
};

/// Belongs to one session with the broker: the faults that it has raised are cleared when it is destroyed. Used by one
/// thread.
class LogReporter : public relay::Reporter {
  public:
    using Clock = std::function<core::SteadyTime()>;

    /// `log` and `faults` must outlive it.
    LogReporter(Log& log, Faults& faults, Clock clock = system::steady_now)
        : log_(log), faults_(faults), clock_(std::move(clock)) {}
    ~LogReporter() override;
    LogReporter(const LogReporter&) = delete;
    LogReporter& operator=(const LogReporter&) = delete;

    /// Writes what is due. Cheap; to be called in each turn of the loop.
    void tick(core::SteadyTime now);

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void parked_before(std::string_view exchange) override;
    void silent(const relay::TargetName& target) override;
    void requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) override;
    void refused(relay::Role role, std::string_view name, std::string_view why) override;
    void healed(relay::Role role, std::string_view name) override;

  private:
    void count(const relay::Settled& message);
    bool begins_to_fail(const relay::TargetName& target, std::string fault);
    void recovered(const relay::TargetName& target);
    void write_limited(config::LogLevel level, std::string_view event, const std::string& message,
                       std::string_view work_queue, std::string_view why);

    Log& log_;
    Faults& faults_;
    Clock clock_;
    LogRateLimiter limiter_;
    ParkingLog parking_;
    FailingQueues failing_queues_;
    /// Queues and exchanges that do not take messages at the moment, as key_of() has them.
    std::set<std::string, std::less<>> failing_targets_;
    /// The keys of the faults that refused() has raised.
    std::set<std::string> refused_;
};

}  // namespace retryd::telemetry
