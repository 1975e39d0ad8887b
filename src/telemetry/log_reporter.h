// Reports the events of the flow to the operator: in the log, and in the list of faults on the status page.
//
// A single message is logged at debug level; when messages begin to fail or to be parked, that gets a line of its own.
// A fault that lasts gets a line when it begins and one when it is over, and is in the list of faults in between; only
// this class knows which targets fail now. Events about single messages that must be reported (`dead_lettered`,
// `stuck`) get at most a line a minute, and no event gets many lines in a minute: whoever may publish must not be able
// to flood the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/time.h"
#include "relay/reporter.h"
#include "system/clock.h"
#include "telemetry/faults.h"
#include "telemetry/log.h"

namespace retryd::telemetry {

/// Detects work queues that begin to fail: many more of their messages than usual have died within a minute. That is
/// long before the first one is parked. Pure.
class FailingQueues {
  public:
    /// Fewer deaths in a minute are not worth reporting.
    static constexpr std::uint64_t worth_telling = 20;
    /// How many times more deaths than usual count as failing.
    static constexpr double times_usual = 10.0;

    struct Change {
        std::string work_queue;
        std::uint64_t messages = 0;  // within the last minute
        double usual = 0.0;          // in a usual minute
        bool fails = false;          // false: it no longer fails
        bool operator==(const Change&) const = default;
    };

    /// Call when a message of that queue has died.
    void died(std::string_view work_queue);
    /// The changes; not empty more than once a minute.
    std::vector<Change> due(core::SteadyTime now);

  private:
    struct Queue {
        std::uint64_t messages = 0;  // deaths within this minute
        double usual = 0.0;
        bool fails = false;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    core::SteadyTime due_{};
};

/// When to log that messages are being parked: a line when it begins, by work queue and reason, then a sum every five
/// minutes while it goes on. Pure.
class ParkingLog {
  public:
    struct Line {
        std::string work_queue;  // empty: unknown
        std::string reason;
        std::string target;
        std::uint64_t messages = 0;  // since the last line
    };

    /// True if parking begins: a line is due at once.
    bool parked(std::string_view work_queue, std::string_view reason, std::string_view target, core::SteadyTime now);
    /// The sums that are due. A sum without messages ends it; the next message begins it again.
    std::vector<Line> due(core::SteadyTime now);

  private:
    struct Parking {
        std::string target;
        std::uint64_t messages = 0;
        core::SteadyTime due{};
    };
    using ByReason = std::map<std::string, Parking, std::less<>>;

    std::map<std::string, ByReason, std::less<>> by_queue_;
    std::size_t size_ = 0;  // the number of all entries
    core::SteadyTime next_{};
};

/// Limits the lines of an event: one a minute for each kind, and few in all however many kinds there are, because names
/// and causes are part of the kind and any client can invent them. Counts the lines that it holds back.
class LogRateLimiter {
  public:
    static constexpr core::Milliseconds interval{60'000};
    static constexpr std::size_t most_lines = 10;  // lines of one event in an interval

    /// Nothing: hold the line back. Otherwise write it; the number says how many were held back since the last one.
    std::optional<std::int64_t> allow(const std::string& event, const std::string& kind, core::SteadyTime now);

    struct SuppressedLines {
        std::string event;
        std::int64_t lines = 0;
    };
    /// Takes the held-back lines that no later line has reported for an interval. Cheap if there are none.
    std::vector<SuppressedLines> take_unreported(core::SteadyTime now);

  private:
    struct Kind {
        core::SteadyTime written{};
        std::int64_t suppressed = 0;
    };
    struct Event {
        std::map<std::string, Kind> kinds;  // kinds with a line within the interval
        std::int64_t suppressed = 0;        // lines held back of other kinds
        core::SteadyTime began{};           // when the interval began
        std::size_t lines = 0;              // lines in the interval
    };
    static void begin_interval(Event& event, core::SteadyTime now);

    std::map<std::string, Event> events_;
    std::optional<core::SteadyTime> next_;  // when the first held-back lines have to be reported
};

/// Belongs to one session with the broker: its destructor clears the faults that it has raised. Used by one thread.
class LogReporter : public relay::Reporter {
  public:
    using Clock = std::function<core::SteadyTime()>;

    /// `log` and `faults` must outlive it.
    LogReporter(Log& log, Faults& faults, Clock clock = system::steady_now)
        : log_(log), faults_(faults), clock_(std::move(clock)) {}
    ~LogReporter() override;
    LogReporter(const LogReporter&) = delete;
    LogReporter& operator=(const LogReporter&) = delete;

    /// Writes what is due. Cheap; call in each turn of the loop.
    void tick(core::SteadyTime now);

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void parked_before(std::string_view exchange) override;
    void unroutable(std::string_view exchange, std::string_view routing_key) override;
    void silent(const relay::TargetName& target) override;
    void requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) override;
    void refused(relay::TargetRole role, std::string_view name, std::string_view why) override;
    void healed(relay::TargetRole role, std::string_view name) override;
    void not_needed(relay::TargetRole role, std::string_view name) override;

    /// Reports lines that were held back a minute ago and not reported since.
    void report_suppressed(core::SteadyTime now);

  private:
    void count(const relay::Settled& message);
    bool begins_to_fail(const relay::TargetName& target, std::string fault);
    void recovered(const relay::TargetName& target);
    void raise_refusal(relay::TargetRole role, std::string_view name, std::string_view why);
    void write_limited(config::LogLevel level, std::string_view event, const std::string& message,
                       std::string_view work_queue, std::string_view why);

    Log& log_;
    Faults& faults_;
    Clock clock_;
    LogRateLimiter limiter_;
    ParkingLog parking_;
    FailingQueues failing_queues_;
    /// Queues and exchanges that accept no messages now, as keys from key_of().
    std::set<std::string, std::less<>> failing_targets_;
    /// The keys of faults that refused() has raised.
    std::set<std::string> refused_;
};

}  // namespace retryd::telemetry
