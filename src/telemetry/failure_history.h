// In which work queues messages fail at the moment, and how that was before: a quarter of an hour in steps of five
// seconds, a day in steps of five minutes. Made of what MessageStats counts, for the status page. Pure.
//
// A failure is a message that came to the error queue and went on from there: onto a rung, into a parking queue, into a
// queue of held messages, or away. One that takes a detour has not been decided yet and comes again, so it is none.
//
// Bounded however many names there are (they may be forged): the quarter of an hour is kept of `most_queues`, 4 KiB
// each, the day of `most_days`, 1 KiB each; where more fail, those that fail least are forgotten first.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "telemetry/stats.h"

namespace retryd::telemetry {

class FailureHistory {
  public:
    static constexpr core::Milliseconds step{5'000};
    static constexpr std::size_t most_steps = 180;
    static constexpr core::Milliseconds bucket{300'000};
    static constexpr std::size_t most_buckets = 288;
    static constexpr std::size_t most_queues = 100;
    static constexpr std::size_t most_days = 30;
    /// The window in which retries that came home are compared with those that failed again.
    static constexpr core::Milliseconds returns_window{120'000};

    /// Of the rungs with one delay.
    struct Rungs {
        core::Milliseconds delay{};
        std::uint64_t put_lately = 0;  // onto them, within returns_window
        /// Whose delay was over within returns_window; nothing where the delay is too long to know.
        std::optional<std::uint64_t> home_lately;
        /// When the first message that is known to be on them goes home, from the last sample on; nothing where none
        /// is.
        std::optional<core::Milliseconds> next;
        bool all_known = false;  // none can be on them that was put there before the history begins
    };

    struct Queue {
        std::string work_queue;
        std::uint64_t last_minute = 0;
        std::vector<std::uint64_t> minutes;  // failures of each of the last minutes that are known, the newest last
        std::uint64_t parked_lately = 0;     // within returns_window
        std::vector<Rungs> rungs;            // the shortest delay first
    };

    struct Day {
        std::string work_queue;
        std::vector<std::uint64_t>
            failures;  // of each bucket since the history began, the newest last, which is not over
    };

    /// To be called every step. What was counted before the first call counts for nothing.
    void sample(const std::vector<QueueCounts>& queues, core::SteadyTime now);

    /// Those of which a message has failed within the last minute, the most failures first.
    std::vector<Queue> failing() const;
    /// Those of which one has failed within the day, the most failures first.
    std::vector<Day> days() const;

  private:
    using Ring = std::array<std::uint32_t, most_steps>;
    using DayRing = std::array<std::uint32_t, most_buckets>;

    /// What was counted up to the last sample.
    struct Counted {
        std::map<core::Milliseconds, std::uint64_t> retried;  // by delay
        std::uint64_t parked = 0;
        std::uint64_t others = 0;  // dropped, held
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

    std::map<std::string, Counted, std::less<>> counted_;  // as many as MessageStats counts
    std::map<std::string, Recent> recent_;
    std::map<std::string, DayRing> days_;
    std::optional<core::SteadyTime> began_;
    std::uint64_t now_step_ = 0;  // since it began
    std::uint64_t now_bucket_ = 0;
};

}  // namespace retryd::telemetry
