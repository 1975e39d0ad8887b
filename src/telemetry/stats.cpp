#include "telemetry/stats.h"

#include <algorithm>
#include <numeric>

namespace retryd::telemetry {

namespace {

constexpr std::string_view dead_lettered_reason = "dead-lettered";
constexpr std::size_t stuck_cause = requeue_causes.size() - 1;
static_assert(static_cast<std::size_t>(relay::last_requeue_cause) + 1 == stuck_cause,
              "each RequeueCause has its name in requeue_causes");

/// Only one thread writes, so no read-modify-write is needed.
void increase(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

bool same_series(const relay::Settled& message, const Count& count) {
    return message.outcome == count.outcome && message.delay == count.delay && message.role == count.role &&
           message.reason == count.reason && message.target == count.target;
}

}  // namespace

void ConfirmTimes::add(core::Milliseconds time) {
    const std::int64_t ms = std::max<std::int64_t>(time.count(), 0);
    std::size_t bucket = 0;
    while (bucket < bounds.size() && ms > bounds[bucket])
        ++bucket;
    increase(messages_[bucket]);
    increase(sum_ms_, static_cast<std::uint64_t>(ms));
}

ConfirmTimes::Histogram ConfirmTimes::histogram() const {
    Histogram histogram;
    for (std::size_t i = 0; i < messages_.size(); ++i)
        histogram.messages[i] = messages_[i].load(std::memory_order_relaxed);
    histogram.sum_ms = sum_ms_.load(std::memory_order_relaxed);
    return histogram;
}

ConfirmTimes::Histogram operator-(const ConfirmTimes::Histogram& later, const ConfirmTimes::Histogram& earlier) {
    ConfirmTimes::Histogram between;
    for (std::size_t i = 0; i < between.messages.size(); ++i)
        between.messages[i] = later.messages[i] - earlier.messages[i];
    between.sum_ms = later.sum_ms - earlier.sum_ms;
    return between;
}

double quantile(const ConfirmTimes::Histogram& histogram, double part) {
    const auto& messages = histogram.messages;
    const auto all = static_cast<double>(std::accumulate(messages.begin(), messages.end(), std::uint64_t{0}));
    if (all == 0.0) return 0.0;
    double below = 0.0;
    for (std::size_t i = 0; i < ConfirmTimes::bounds.size(); ++i) {
        const auto here = static_cast<double>(messages[i]);
        if (here > 0.0 && below + here >= part * all) {
            const double from = i == 0 ? 0.0 : static_cast<double>(ConfirmTimes::bounds[i - 1]);
            const auto to = static_cast<double>(ConfirmTimes::bounds[i]);
            return from + (to - from) * (part * all - below) / here;
        }
        below += here;
    }
    return static_cast<double>(ConfirmTimes::bounds.back());
}

void MessageStats::settled(const relay::Settled& message) {
    count(message);
    if (message.outcome != relay::Outcome::dropped) confirms_.add(message.confirm_time);
}

void MessageStats::dead_lettered(std::string_view work_queue, std::string_view) {
    count({relay::Outcome::parked, work_queue, "", dead_lettered_reason, {}, {}, relay::TargetRole::parking});
}

void MessageStats::stuck(std::string_view, std::string_view, core::Milliseconds) {
    increase(requeued_[stuck_cause]);
}

void MessageStats::requeued(const relay::TargetName&, relay::RequeueCause cause, core::Milliseconds) {
    increase(requeued_[static_cast<std::size_t>(cause)]);
}

void MessageStats::expect(const std::vector<std::string>& work_queues) {
    for (const std::string& work_queue : work_queues)
        queue(work_queue);
}

void MessageStats::count(const relay::Settled& message) {
    increase(totals_[static_cast<std::size_t>(message.outcome)]);
    Queue& queue = this->queue(message.work_queue.empty() ? no_queue : message.work_queue);
    relay::Settled counted = message;
    if (queue.is_several) counted.target = "";
    if (queue.last == nullptr || !same_series(counted, queue.last->count)) queue.last = &series(queue, counted);
    increase(queue.last->counter);
}

MessageStats::Queue& MessageStats::queue(std::string_view work_queue) {
    if (const auto known = queues_.find(work_queue); known != queues_.end()) return known->second;
    if (queues_.size() >= most_work_queues && work_queue != other_queues && work_queue != no_queue)
        return queue(other_queues);
    const std::lock_guard lock(mutex_);
    Queue& added = queues_[std::string{work_queue}];
    added.is_several = work_queue == other_queues;
    return added;
}

MessageStats::Series& MessageStats::series(Queue& queue, const relay::Settled& message) {
    const auto known = std::find_if(queue.series.begin(), queue.series.end(),
                                    [&](const Series& series) { return same_series(message, series.count); });
    if (known != queue.series.end()) return *known;
    const std::lock_guard lock(mutex_);
    Series& added = queue.series.emplace_back();
    added.count = {message.outcome, message.reason, message.role, std::string{message.target}, message.delay, 0};
    return added;
}

Counts MessageStats::counts() const {
    Counts counts;
    {
        const std::lock_guard lock(mutex_);
        counts.queues.reserve(queues_.size());
        for (const auto& [name, queue] : queues_) {
            QueueCounts& copy = counts.queues.emplace_back();
            copy.work_queue = name;
            for (const Series& series : queue.series) {
                copy.counts.push_back(series.count);
                copy.counts.back().messages = series.counter.load(std::memory_order_relaxed);
            }
        }
    }
    std::sort(counts.queues.begin(), counts.queues.end(),
              [](const QueueCounts& a, const QueueCounts& b) { return a.work_queue < b.work_queue; });
    counts.confirms = confirms_.histogram();
    for (std::size_t i = 0; i < requeued_.size(); ++i)
        counts.requeued[i] = requeued_[i].load(std::memory_order_relaxed);
    counts.in_flight = in_flight_.load(std::memory_order_relaxed);
    counts.oldest_unsettled =
        core::Milliseconds{static_cast<core::Milliseconds::rep>(oldest_unsettled_ms_.load(std::memory_order_relaxed))};
    return counts;
}

Totals MessageStats::totals() const {
    const auto of = [&](relay::Outcome outcome) {
        return totals_[static_cast<std::size_t>(outcome)].load(std::memory_order_relaxed);
    };
    return {of(relay::Outcome::retried) + of(relay::Outcome::returned_to_queue), of(relay::Outcome::parked),
            of(relay::Outcome::dropped)};
}

}  // namespace retryd::telemetry
