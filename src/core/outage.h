// Whether what the consumers of one work queue need is down, and what follows: hold, probe, release.
//
// Told by two that know different things. retryd carries what fails, and knows it at once. RabbitMQ counts what is
// delivered and acked, and tells it up to 5 s later (collect_statistics_interval). So a failure is judged only when the
// acks of its time must have been counted; and where the counters do not even know of its delivery, they are late, and
// nothing is judged.
//
// Pure: events and the time come in as calls, what may be sent is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/decide.h"
#include "core/policy.h"
#include "core/time.h"

namespace retryd::core {

/// What RabbitMQ has counted of a work queue. They begin anew when its node starts.
struct QueueCounters {
    std::uint64_t delivered = 0;  // redeliveries included
    std::uint64_t redelivered = 0;
    std::uint64_t acked = 0;
    std::uint64_t unacked = 0;  // at the moment
    bool operator==(const QueueCounters&) const = default;
};

class Outage {
  public:
    enum class State { none, holding, releasing };
    enum class Event { begun, relapsed, releasing, over };

    /// Without a rule it never holds by itself; what was held by hand is released at the default's rate.
    explicit Outage(const std::optional<OutageRule>& rule) : rule_(rule) {}

    // ── what happens ──

    /// A message has failed, on that attempt. `was_held`: it had been sent home out of the held ones.
    void failed(std::int64_t attempt, bool was_held, const Now& now);
    /// What RabbitMQ has counted, as it said just now.
    void counted(const QueueCounters& counters, const Now& now);
    /// It could not be asked, or does not count.
    void not_counted(const Now& now);
    /// A held message was sent home.
    void sent(const Now& now);
    /// None is held any more, and none is under way.
    void emptied(const Now& now);
    /// Messages are held and not being released: by an earlier run of retryd, or by another daemon.
    void found_held(bool at_start, const Now& now);
    /// What lies there is not retryd's: nothing of it is released.
    void abandon(const Now& now);
    /// The entry holds by hand, or does not any more: then what is held is released.
    void by_hand(bool hold, const Now& now);
    /// An operator says that it is over, and no probe is waited for. A relapse holds again. Nothing happens while it
    /// holds by hand.
    void release(const Now& now);
    /// After a reload.
    void adopt(const std::optional<OutageRule>& rule, const Now& now);
    /// Time passes.
    void on_tick(const Now& now);

    // ── what follows ──

    KnownOutage known(SteadyTime now) const;
    /// So many held messages may be sent home at this moment; sent() is to be called for each.
    std::size_t may_send(SteadyTime now) const;
    /// When it may be more, as far as the time decides; nothing where it does not.
    std::optional<SteadyTime> next_send(SteadyTime now) const;
    /// Whether the counters are of interest.
    bool wants_counters(SteadyTime now) const;
    std::vector<Event> take_events() { return std::exchange(events_, {}); }

    // ── what is seen of it ──

    State state() const { return state_; }
    bool held_by_hand() const { return by_hand_; }
    std::optional<WallTime> since() const { return since_; }
    std::optional<SteadyTime> last_probe_failed() const { return probe_failed_; }
    /// Messages a second, while it releases.
    double rate() const { return rate_; }

  private:
    /// The failures of a moment.
    struct Failures {
        SteadyTime at{};
        WallTime wall{};
        std::size_t all = 0;
        std::map<std::int64_t, std::size_t> by_attempt;
    };
    struct Sample {
        SteadyTime at{};
        QueueCounters counters;
    };
    /// What became of messages in a span of time.
    struct Outcomes {
        std::size_t failures = 0;
        std::size_t failed_messages = 0;  // at least so many: each fails once on an attempt
        std::uint64_t acked = 0;
        std::uint64_t delivered = 0;
        std::uint64_t unacked = 0;  // more than before
    };

    bool automatic() const { return rule_.has_value() && !by_hand_; }
    const OutageRule& rule() const;
    std::size_t failed_messages(SteadyTime after, SteadyTime until) const;
    std::optional<Outcomes> outcomes(SteadyTime now, Milliseconds span) const;
    bool is_outage(SteadyTime now, Milliseconds span) const;
    bool all_released_fail() const;
    bool suspicious(SteadyTime now) const;
    void note_suspicion(SteadyTime now);
    void forget_old(SteadyTime now);
    void hold(const Now& now);
    void begin_release(const Now& now);
    void end(const Now& now);
    void look_for_success(const Now& now);
    void succeed(std::uint64_t successes, const Now& now);
    void judge_probe_alone(const Now& now);
    bool fresh_ones_tell(SteadyTime now) const;
    void adapt_rate(const Now& now);
    bool consumers_keep_up(SteadyTime now) const;

    std::optional<OutageRule> rule_;
    State state_ = State::none;
    bool by_hand_ = false;
    std::vector<Event> events_;

    std::deque<Failures> failures_;
    std::deque<Sample> samples_;
    std::optional<SteadyTime> uncounted_since_;
    std::optional<SteadyTime> interesting_until_;
    std::optional<SteadyTime> suspicious_since_;
    SteadyTime suspicious_at_{};  // the last time
    WallTime suspected_from_{};   // the first failure of those

    // The outage that lasts, or the last one.
    std::optional<WallTime> since_;
    SteadyTime changed_{};  // the state, the last time

    // While it holds.
    SteadyTime next_probe_{};
    std::optional<SteadyTime> probe_sent_;  // the first of those of which it is not known what became of them
    std::optional<SteadyTime> probe_failed_;
    std::uint64_t successes_ = 0;  // in a row
    std::optional<std::uint64_t> acked_before_;
    std::size_t failures_since_ = 0;  // since the last look
    std::size_t fresh_failures_ = 0;  // since the last probe

    // While it releases.
    struct Step {
        SteadyTime began{};
        std::size_t sent = 0;
        std::size_t failed = 0;
    };
    double rate_ = 0;
    SteadyTime next_send_{};
    double next_send_rest_ = 0;  // of a millisecond
    Step step_;
    std::size_t sent_ = 0;
    std::size_t sent_failed_ = 0;
    std::deque<std::pair<SteadyTime, std::size_t>> sent_until_;  // at the end of each step
    std::optional<std::uint64_t> acked_at_release_;
};

}  // namespace retryd::core
