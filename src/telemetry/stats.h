// What the flow reports, counted: for the metrics and the status page.
//
// Cheap on a message's way: once a work queue, a reason and a target have been seen, counting takes no lock and
// allocates nothing. One thread reports; any number of others read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/time.h"
#include "relay/reporter.h"

namespace retryd::telemetry {

/// How long the broker takes to confirm: a histogram that one thread writes and others read.
///
/// prometheus::Histogram is not used because its Observe() locks a mutex (prometheus-cpp 1.0), and because two of them
/// cannot be subtracted, which is what the quantiles of the last ten minutes are made of.
class ConfirmTimes {
  public:
    /// The upper bounds of the buckets, included, in milliseconds. The last bucket, of what took longer, has none.
    static constexpr std::array<std::int64_t, 14> bounds{1,   2,   5,     10,    20,    50,     100,
                                                         200, 500, 1'000, 2'000, 5'000, 20'000, 60'000};

    struct Histogram {
        std::array<std::uint64_t, bounds.size() + 1> messages{};  // of each bucket alone
        std::uint64_t sum_ms = 0;
    };

    void add(core::Milliseconds time);
    Histogram histogram() const;

  private:
    std::array<std::atomic<std::uint64_t>, bounds.size() + 1> messages_{};
    std::atomic<std::uint64_t> sum_ms_{0};
};

/// What was added between two moments.
ConfirmTimes::Histogram operator-(const ConfirmTimes::Histogram& later, const ConfirmTimes::Histogram& earlier);

/// In milliseconds, interpolated within a bucket; 0 where the histogram is empty. `part` is 0.5 for the median.
double quantile(const ConfirmTimes::Histogram& histogram, double part);

/// So many work queues are counted one by one. Names may be forged: all further ones are counted together, as
/// `other_queues`.
inline constexpr std::size_t most_work_queues = 1'000;
inline constexpr std::string_view other_queues = "(other)";
/// Messages of which no work queue is known.
inline constexpr std::string_view no_queue = "(none)";

/// How many messages of one work queue had the same outcome for the same reason at the same target.
struct Count {
    relay::Outcome outcome = relay::Outcome::retried;
    std::string_view reason;  // a literal
    relay::Role role = relay::Role::rung;
    std::string target;  // empty when dropped, or of `other_queues`
    core::Milliseconds delay{};
    std::uint64_t messages = 0;
};

struct QueueCounts {
    std::string work_queue;
    std::vector<Count> counts;
};

/// Why messages went back to the error queue: relay::RequeueCause in its order, and `stuck`.
inline constexpr std::array<std::string_view, 6> requeue_causes{"nacked",         "returned",       "unanswered",
                                                                "detour_refused", "channel_closed", "stuck"};

/// All that was counted since the start, at one moment.
struct Counts {
    std::vector<QueueCounts> queues;  // sorted by name
    ConfirmTimes::Histogram confirms;
    std::array<std::uint64_t, requeue_causes.size()> requeued{};
    std::uint64_t in_flight = 0;
    core::Milliseconds oldest_unsettled{};
};

/// Of all queues together.
struct Totals {
    std::uint64_t retried = 0;  // what was returned included
    std::uint64_t parked = 0;   // what was handed to the broker's dead-lettering included
    std::uint64_t dropped = 0;
};

class MessageStats : public relay::Reporter {
  public:
    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void parked_before(std::string_view) override {}
    void unroutable(std::string_view, std::string_view) override {}
    void silent(const relay::TargetName&) override {}
    void requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) override;
    void refused(relay::Role, std::string_view, std::string_view) override {}
    void healed(relay::Role, std::string_view) override {}

    /// Published and not confirmed yet. By the thread that reports.
    void in_flight(std::size_t messages) { in_flight_.store(messages, std::memory_order_relaxed); }
    /// How long the oldest delivery has waited that is not settled yet. By the thread that reports.
    void oldest_unsettled(core::Milliseconds age) {
        oldest_unsettled_ms_.store(static_cast<std::uint64_t>(age.count()), std::memory_order_relaxed);
    }
    /// These are counted one by one, however many others come first. By the thread that reports.
    void expect(const std::vector<std::string>& work_queues);

    Counts counts() const;
    Totals totals() const;
    ConfirmTimes::Histogram confirms() const { return confirms_.histogram(); }

  private:
    using Counter = std::atomic<std::uint64_t>;

    struct Series {
        Count count;  // its `messages` stays 0: the number is in `counter`
        Counter counter{0};
    };
    struct Queue {
        std::deque<Series> series;
        Series* last = nullptr;   // the one that was counted last: mostly the next one too
        bool is_several = false;  // `other_queues`: their targets are not told apart
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    Queue& queue(std::string_view work_queue);
    Series& series(Queue& queue, const relay::Settled& message);
    void count(const relay::Settled& message);

    /// Locked by readers, and by the reporting thread only when it adds a queue or a series.
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    std::array<Counter, static_cast<std::size_t>(relay::last_outcome) + 1> totals_{};  // by relay::Outcome
    std::array<Counter, requeue_causes.size()> requeued_{};
    Counter in_flight_{0};
    Counter oldest_unsettled_ms_{0};
    ConfirmTimes confirms_;
};

}  // namespace retryd::telemetry
