// The history for the status page: the number of messages over the last ten minutes in steps of five seconds and over
// the last day in steps of a minute, and the work queues in which they failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::telemetry {

/// The work queues in which messages fail now, and how many failed: over a quarter of an hour in steps of five seconds,
/// over a day in steps of five minutes. Made from the counters of MessageStats. Pure.
///
/// A failure is a message that came to the error queue and was moved on: to a rung, a parking queue, a queue of held
/// messages, or dropped. A message that takes a detour is not decided yet and comes again, so it does not count.
///
/// Its size is limited however many (possibly forged) names there are: the quarter of an hour is kept for
/// `most_queues`, 4 KiB each, the day for `most_days`, 1 KiB each. Beyond that, those with the fewest failures are
/// forgotten first.
class FailureHistory {
  public:
    static constexpr core::Milliseconds step{5'000};
    static constexpr std::size_t most_steps = 180;
    static constexpr core::Milliseconds bucket{300'000};
    static constexpr std::size_t most_buckets = 288;
    static constexpr std::size_t most_queues = 100;
    static constexpr std::size_t most_days = 30;
    /// The time over which retries that came home are compared with those that failed again.
    static constexpr core::Milliseconds returns_window{120'000};

    /// The rungs with the same delay.
    struct Rungs {
        core::Milliseconds delay{};
        std::uint64_t put_lately = 0;  // messages put onto them within returns_window
        /// Messages whose delay ended within returns_window; nothing if the delay is too long to know.
        std::optional<std::uint64_t> home_lately;
        /// How long after the last sample the next known message on them goes home; nothing if none is known.
        std::optional<core::Milliseconds> next;
        bool all_known = false;  // no message on them can be from before the history begins
    };

    struct Queue {
        std::string work_queue;
        std::uint64_t last_minute = 0;
        std::vector<std::uint64_t> minutes;  // failures in each of the last minutes, the newest last
        std::uint64_t parked_lately = 0;     // parked within returns_window
        std::vector<Rungs> rungs;            // the shortest delay first
    };

    struct Day {
        std::string work_queue;
        std::vector<std::uint64_t>
            failures;  // in each bucket since the history began, the newest last, which is not over
    };

    /// Call once in every step. What was counted before the first call is ignored.
    void sample(const std::vector<QueueCounts>& queues, core::SteadyTime now);

    /// The queues with a failure within the last minute, the most failures first.
    std::vector<Queue> failing() const;
    /// The queues with a failure within the day, the most failures first.
    std::vector<Day> days() const;

  private:
    using Ring = std::array<std::uint32_t, most_steps>;
    using DayRing = std::array<std::uint32_t, most_buckets>;

    /// The counters at the last sample.
    struct Counted {
        std::map<core::Milliseconds, std::uint64_t> retried;  // by delay
        std::uint64_t parked = 0;
        std::uint64_t others = 0;  // dropped or held
    };
    struct Recent {
        std::map<core::Milliseconds, Ring> retried;
        Ring parked{};
        Ring failures{};
    };

    static Counted count(const QueueCounts& queue);
    void begin_step(std::uint64_t at);
    void begin_bucket(std::uint64_t at);
    void add(const std::string& work_queue, const Counted& before, const Counted& after);
    void forget_the_least();
    std::uint64_t sum(const Ring& ring, std::uint64_t oldest_age, std::uint64_t newest_age) const;
    Rungs rungs_of(core::Milliseconds delay, const Ring& ring) const;

    std::map<std::string, Counted, std::less<>> counted_;  // at most as many as MessageStats counts
    std::map<std::string, Recent> recent_;
    std::map<std::string, DayRing> days_;
    std::optional<core::SteadyTime> began_;
    std::uint64_t now_step_ = 0;  // counted from the beginning
    std::uint64_t now_bucket_ = 0;
};

/// Thread-safe. Takes 50 KiB, and up to 430 KiB more for the work queues in which messages fail.
class History {
  public:
    static constexpr core::Milliseconds interval{5'000};
    static constexpr std::size_t most_intervals = 120;
    static constexpr core::Milliseconds minute{60'000};
    static constexpr std::size_t most_minutes = 1'440;

    /// Call about every second. Takes a sample whenever an interval is over.
    void sample(const MessageStats& stats, core::SteadyTime now);

    /// The intervals that are kept.
    struct Lately {
        Rates rates;
        ConfirmTimes::Histogram confirms;  // up to now
        std::vector<FailureHistory::Queue> failing;
    };
    Lately lately(const MessageStats& stats) const;

    /// The work queues with a failure within the last minute, the most failures first.
    std::vector<std::string> failing() const;

    /// The complete minutes of the last day.
    DayStatus day() const;

  private:
    struct Sample {
        Totals totals;
        ConfirmTimes::Histogram confirms;
    };

    mutable std::mutex mutex_;
    std::deque<Sample> samples_;  // one more than there are intervals
    std::deque<Totals> minutes_;  // one more than there are minutes
    FailureHistory failures_;
    core::SteadyTime due_{};
    core::SteadyTime minute_due_{};
};

}  // namespace retryd::telemetry
