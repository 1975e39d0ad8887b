// What the flow reports, told to the operator: in the log, and in the list of faults that the status page shows.
//
// A single message is a line at debug; that messages begin to fail or to be parked is a line of its own. A fault that
// lasts is one line when it begins and one when it is over, and stands in the list of faults in between: this is the
// one place that knows which targets fail at the moment. What happens to single messages and yet has to be told
// (`dead_lettered`, `stuck`) is a line a minute at most, and no event has many lines in a minute: whoever may publish
// must not be able to write the log.
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

/// Which work queues have begun to fail: many more of their messages have died within a minute than usual. Long before
/// the first one is parked. Pure.
class FailingQueues {
  public:
    /// So few in a minute are nothing to speak of.
    static constexpr std::uint64_t worth_telling = 20;
    /// It fails when there are so many times more than usual.
    static constexpr double times_usual = 10.0;

    struct Change {
        std::string work_queue;
        std::uint64_t messages = 0;  // within the last minute
        double usual = 0.0;          // in a minute
        bool fails = false;          // false: it does no more
        bool operator==(const Change&) const = default;
    };

    /// A message of that queue has died.
    void died(std::string_view work_queue);
    /// What has changed; there is something at most once a minute.
    std::vector<Change> due(core::SteadyTime now);

  private:
    struct Queue {
        std::uint64_t messages = 0;  // within this minute
        double usual = 0.0;
        bool fails = false;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    core::SteadyTime due_{};
};

/// What the log says of messages that are being parked: a line when it begins, by work queue and reason, and then a sum
/// every five minutes while it goes on. Pure.
class ParkingLog {
  public:
    struct Line {
        std::string work_queue;  // empty: not known
        std::string reason;
        std::string target;
        std::uint64_t messages = 0;  // since the last line
    };

    /// True: parking begins, and a line is due at once.
    bool parked(std::string_view work_queue, std::string_view reason, std::string_view target, core::SteadyTime now);
    /// The sums that are due. One without messages ends it: the next message begins it anew.
    std::vector<Line> due(core::SteadyTime now);

  private:
    struct Parking {
        std::string target;
        std::uint64_t messages = 0;
        core::SteadyTime due{};
    };
    using ByReason = std::map<std::string, Parking, std::less<>>;

    std::map<std::string, ByReason, std::less<>> by_queue_;
    std::size_t size_ = 0;  // of all of them
    core::SteadyTime next_{};
};

/// Of an event, lets one line of each kind through a minute, and few lines in all however many kinds there are: names
/// and causes are part of a kind, and any client can make up as many as it likes. Counts what it held back.
class LogRateLimiter {
  public:
    static constexpr core::Milliseconds interval{60'000};
    static constexpr std::size_t most_lines = 10;  // of an event in an interval

    /// Nothing: the line is held back. Otherwise it may be written, and so many were held back since the last one.
    std::optional<std::int64_t> allow(const std::string& event, const std::string& kind, core::SteadyTime now);

    struct HeldBack {
        std::string event;
        std::int64_t lines = 0;
    };
    /// What was held back and no further line has told for an interval, taken out. Cheap where that is nothing.
    std::vector<HeldBack> take_untold(core::SteadyTime now);

  private:
    struct Kind {
        core::SteadyTime written{};
        std::int64_t held_back = 0;
    };
    struct Event {
        std::map<std::string, Kind> kinds;  // those that were written within the interval
        std::int64_t held_back = 0;         // of other kinds
        core::SteadyTime began{};           // the interval
        std::size_t lines = 0;              // in it
    };
    static void begin_interval(Event& event, core::SteadyTime now);

    std::map<std::string, Event> events_;
    std::optional<core::SteadyTime> next_;  // when the first of what is held back is to be told
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
    void unroutable(std::string_view exchange, std::string_view routing_key) override;
    void silent(const relay::TargetName& target) override;
    void requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) override;
    void refused(relay::Role role, std::string_view name, std::string_view why) override;
    void healed(relay::Role role, std::string_view name) override;

    /// What was held back a minute ago and no line has told since.
    void tell_held_back(core::SteadyTime now);

  private:
    void count(const relay::Settled& message);
    bool begins_to_fail(const relay::TargetName& target, std::string fault);
    void recovered(const relay::TargetName& target);
    void raise_refusal(relay::Role role, std::string_view name, std::string_view why);
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
