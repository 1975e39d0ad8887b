#include "relay/waiting.h"

#include <algorithm>

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// So long messages wait for a target that is being declared, or has enough under way. Then they take the detour, and
/// so do for a while those that come after them.
constexpr Milliseconds longest_wait{300};
constexpr Milliseconds none_waits_for{1'000};
/// When some have waited so long without success, others may do the same one after the other: for a while no more than
/// half of the prefetch waits at once.
constexpr Milliseconds few_may_wait_for{10'000};
/// So many deliveries may wait, whatever the prefetch.
constexpr std::size_t few_waiting = 4;

}  // namespace

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

bool WaitingDeliveries::may_wait(const std::shared_ptr<Awaited>& awaited, std::size_t most_open, core::SteadyTime now) {
    if (now < awaited->not_before || too_many_wait(most_open, now)) return false;
    if (!awaited->since || now - *awaited->since < longest_wait) {
        wait_for(awaited, now);
        return true;
    }
    awaited->not_before = now + none_waits_for;
    few_may_wait_until_ = now + few_may_wait_for;
    return false;
}

void WaitingDeliveries::wait_for(const std::shared_ptr<Awaited>& awaited, core::SteadyTime now) {
    if (!awaited->since) {
        awaited->since = now;
        awaited_.push_back(awaited);
    }
    awaited->seen = look_;
    waits_for_ = awaited.get();
}

bool WaitingDeliveries::too_many_wait(std::size_t most_open, core::SteadyTime now) const {
    return now < few_may_wait_until_ && size() > std::max(few_waiting, most_open / 2);
}

void WaitingDeliveries::forget(Awaited& awaited) {
    awaited.since.reset();
    std::erase_if(awaited_, [&](const auto& other) { return other.get() == &awaited; });
}

void WaitingDeliveries::forget_what_none_waits_for() {
    std::erase_if(awaited_, [&](const std::shared_ptr<Awaited>& awaited) {
        if (awaited->seen == look_) return false;
        awaited->since.reset();
        return true;
    });
}

}  // namespace retryd::relay
