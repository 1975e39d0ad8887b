#include "telemetry/confirm_times.h"

#include <algorithm>
#include <numeric>

namespace retryd::telemetry {
namespace {

/// One thread writes: no read-modify-write is needed.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

void ConfirmTimes::add(core::Milliseconds time) {
    const std::int64_t ms = std::max<std::int64_t>(time.count(), 0);
    std::size_t bucket = 0;
    while (bucket < bounds.size() && ms > bounds[bucket])
        ++bucket;
    telemetry::add(messages_[bucket], 1);
    telemetry::add(sum_ms_, static_cast<std::uint64_t>(ms));
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

}  // namespace retryd::telemetry
