// How long the broker takes to confirm: a histogram that one thread writes and any number of others read.
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

class ConfirmTimes {
  public:
    /// The upper bounds of the buckets, included, in milliseconds; what is longer is in one more.
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

/// What came between two moments.
ConfirmTimes::Histogram operator-(const ConfirmTimes::Histogram& later, const ConfirmTimes::Histogram& earlier);

/// In milliseconds, as exact as the buckets are; 0 where there is nothing. `part` is 0.5 for the median.
double quantile(const ConfirmTimes::Histogram& histogram, double part);

// What the flow reports, counted: for metrics and the status page.
//
// Cheap on the way of a message: once a work queue, a reason and a target have been met, counting takes no lock and
// allocates nothing. One thread reports; any number of others look.

/// So many work queues are told apart. Names may be forged: all further ones are one, `other_queues`.
inline constexpr std::size_t most_work_queues = 1'000;
inline constexpr std::string_view other_queues = "(other)";
/// Messages of which no work queue is known.
inline constexpr std::string_view no_queue = "(none)";

/// How many messages of one work queue went one way.
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

/// Why messages went back to the error queue; relay::RequeueCause, and `stuck`.
inline constexpr std::array<std::string_view, 4> requeue_causes{"nacked", "returned", "channel_closed", "stuck"};

/// At one moment.
struct Counts {
    std::vector<QueueCounts> queues;  // sorted by name
    ConfirmTimes::Histogram confirms;
    std::array<std::uint64_t, requeue_causes.size()> requeued{};
    std::uint64_t in_flight = 0;
};

/// Of all queues together.
struct Totals {
    std::uint64_t retried = 0;  // what was sent home included
    std::uint64_t parked = 0;   // what was handed to the broker's dead-lettering included
    std::uint64_t dropped = 0;
};

class MessageStats : public relay::Reporter {
  public:
    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void requeued(relay::Role role, std::string_view target, relay::RequeueCause cause,
                  core::Milliseconds delay) override;
    void refused(relay::Role, std::string_view, std::string_view) override {}
    void healed(relay::Role, std::string_view) override {}

    /// Published and not confirmed yet. By the thread that reports.
    void in_flight(std::size_t messages) { unconfirmed_.store(messages, std::memory_order_relaxed); }
    /// These have a place of their own, whatever comes. By the thread that reports.
    void expect(const std::vector<std::string>& work_queues);

    Counts counts() const;
    Totals totals() const;
    ConfirmTimes::Histogram confirms() const { return confirms_.histogram(); }

  private:
    using Counter = std::atomic<std::uint64_t>;

    struct Series {
        Count count;  // its `messages` stay 0: they are in the counter
        Counter counter{0};
    };
    struct Queue {
        std::deque<Series> series;
        Series* last = nullptr;
        bool many = false;  // stands for several: no target is told
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    Queue& queue(std::string_view work_queue);
    Series& series(Queue& queue, const relay::Settled& message);
    void count(const relay::Settled& message);

    /// Taken by whoever looks, and by the reporting thread only where it adds something new.
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    std::array<Counter, 4> totals_{};  // by relay::Outcome
    std::array<Counter, requeue_causes.size()> requeued_{};
    Counter unconfirmed_{0};
    ConfirmTimes confirms_;
};

}  // namespace retryd::telemetry
