#include "relay/delayed.h"

#include <algorithm>
#include <functional>

namespace retryd::relay {

void WaitingDeliveries::add(const core::Delivery& delivery, const Awaited* waits_for) {
    deliveries_.push_back({core::OwnedDelivery{delivery}, waits_for});
    bytes_ += deliveries_.back().delivery.bytes();
    ++still_waiting_;
}

void WaitingDeliveries::clear() {
    deliveries_.clear();
    bytes_ = 0;
    still_waiting_ = 0;
}

void DelayedRequeues::add(core::SteadyTime due, core::DeliveryTag tag) {
    heap_.push_back({due, tag});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

std::optional<core::DeliveryTag> DelayedRequeues::take_due(core::SteadyTime now) {
    if (heap_.empty() || heap_.front().due > now) return std::nullopt;
    const core::DeliveryTag tag = heap_.front().tag;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
    return tag;
}

std::optional<core::SteadyTime> DelayedRequeues::next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().due;
}

bool UnroutableAddresses::add(std::uint64_t address, core::SteadyTime now) {
    constexpr core::Milliseconds tried_again_after{60'000};
    constexpr std::size_t most = 10'000;  // producers choose the keys
    if (until_.size() >= most) until_.clear();
    return until_.insert_or_assign(address, now + tried_again_after).second;
}

bool UnroutableAddresses::contains(std::uint64_t address, core::SteadyTime now) const {
    const auto found = until_.find(address);
    return found != until_.end() && now < found->second;
}

}  // namespace retryd::relay
