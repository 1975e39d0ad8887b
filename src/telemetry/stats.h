// Counts the events of the flow, for the metrics and the status page.
//
// Cheap for each message: once a work queue, a reason and a target have been seen, counting takes no lock and allocates
// nothing. One thread reports; any number of others read.
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
/// cannot be subtracted, which the quantiles of the last ten minutes need.
class ConfirmTimes {
  public:
    /// The inclusive upper bounds of the buckets in milliseconds. The last bucket, for longer times, has none.
    static constexpr std::array<std::int64_t, 14> bounds{1,   2,   5,     10,    20,    50,     100,
                                                         200, 500, 1'000, 2'000, 5'000, 20'000, 60'000};

    struct Histogram {
        std::array<std::uint64_t, bounds.size() + 1> messages{};  // in each bucket, not cumulative
        std::uint64_t sum_ms = 0;
    };

    void add(core::Milliseconds time);
    Histogram histogram() const;

  private:
    std::array<std::atomic<std::uint64_t>, bounds.size() + 1> messages_{};
    std::atomic<std::uint64_t> sum_ms_{0};
};

/// What was added between two times.
ConfirmTimes::Histogram operator-(const ConfirmTimes::Histogram& later, const ConfirmTimes::Histogram& earlier);

/// In milliseconds, interpolated within a bucket; 0 if the histogram is empty. `part` is 0.5 for the median.
double quantile(const ConfirmTimes::Histogram& histogram, double part);

/// How many work queues are counted separately. Names may be forged, so all further ones are counted together, as
/// `other_queues`.
inline constexpr std::size_t most_work_queues = 1'000;
inline constexpr std::string_view other_queues = "(other)";
/// Messages without a known work queue.
inline constexpr std::string_view no_queue = "(none)";

/// The number of messages of one work queue with the same outcome, reason and target.
struct Count {
    relay::Outcome outcome = relay::Outcome::retried;
    std::string_view reason;  // a string literal
    relay::TargetRole role = relay::TargetRole::rung;
    std::string target;  // empty if dropped, or for `other_queues`
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

/// A snapshot of everything that was counted since the start.
struct Counts {
    std::vector<QueueCounts> queues;  // sorted by name
    ConfirmTimes::Histogram confirms;
    std::array<std::uint64_t, requeue_causes.size()> requeued{};
    std::uint64_t in_flight = 0;
    core::Milliseconds oldest_unsettled{};
};

/// Totals of all queues.
struct Totals {
    std::uint64_t retried = 0;  // including returned ones
    std::uint64_t parked = 0;   // including those left to the broker's dead-lettering
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
    void refused(relay::TargetRole, std::string_view, std::string_view) override {}
    void healed(relay::TargetRole, std::string_view) override {}
    void not_needed(relay::TargetRole, std::string_view) override {}

    /// Messages that are published and not confirmed. Call from the reporting thread.
    void in_flight(std::size_t messages) { in_flight_.store(messages, std::memory_order_relaxed); }
    /// How long the oldest unsettled delivery has waited. Call from the reporting thread.
    void oldest_unsettled(core::Milliseconds age) {
        oldest_unsettled_ms_.store(static_cast<std::uint64_t>(age.count()), std::memory_order_relaxed);
    }
    /// Makes sure that these are counted separately, however many others come first. Call from the reporting thread.
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
        Series* last = nullptr;   // the series that was counted last: usually also the next one
        bool is_several = false;  // `other_queues`: their targets are not distinguished
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
