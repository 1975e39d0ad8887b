#include "relay/requeues.h"

#include <algorithm>
#include <functional>

namespace retryd::relay {

core::Milliseconds backoff(int failures) {
    constexpr core::Milliseconds first{1'000};
    constexpr core::Milliseconds longest{30'000};
    const int doublings = std::min(failures - 1, 10);
    return std::min(first * (1 << doublings), longest);
}

void Requeues::add(core::SteadyTime due, core::DeliveryTag tag) {
    heap_.push_back({due, tag});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

std::optional<core::DeliveryTag> Requeues::take_due(core::SteadyTime now) {
    if (heap_.empty() || heap_.front().due > now) return std::nullopt;
    const core::DeliveryTag tag = heap_.front().tag;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
    return tag;
}

std::optional<core::SteadyTime> Requeues::next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().due;
}

}  // namespace retryd::relay
