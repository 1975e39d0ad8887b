#include "relay/unconfirmed.h"

#include <algorithm>

#include "core/fingerprint.h"

namespace retryd::relay {

std::uint64_t hash_of_address(std::string_view exchange, std::string_view routing_key) {
    const std::uint64_t both[] = {core::fnv1a(exchange), core::fnv1a(routing_key)};
    return both[0] * 31 + both[1];
}

PublishSeq Unconfirmed::add(Pending pending) {
    pending_.push_back(std::move(pending));
    ++unsettled_;
    return first_ + pending_.size() - 1;
}

void Unconfirmed::settle(Pending& pending, std::vector<Pending>& settled) {
    if (pending.settled) return;
    settled.push_back(std::move(pending));
    pending.settled = true;
    --unsettled_;
}

void Unconfirmed::confirm(PublishSeq seq, bool multiple, std::vector<Pending>& settled) {
    if (seq < first_ || seq >= first_ + pending_.size()) return;
    const auto last = static_cast<std::size_t>(seq - first_);
    for (std::size_t i = multiple ? 0 : last; i <= last; ++i)
        settle(pending_[i], settled);
    while (!pending_.empty() && pending_.front().settled) {
        pending_.pop_front();
        ++first_;
    }
}

std::vector<Pending> Unconfirmed::abandon() {
    std::vector<Pending> unsettled;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        if (!pending_[i].settled) unsettled.push_back(std::move(pending_[i]));
    }
    pending_.clear();
    first_ = 1;
    unsettled_ = 0;
    return unsettled;
}

std::optional<core::SteadyTime> Unconfirmed::oldest() const {
    if (empty()) return std::nullopt;
    return pending_.front().sent_at;  // those at the front are unsettled: confirm() takes the settled ones off
}

std::vector<std::shared_ptr<Target>> Unconfirmed::mark_returned(std::uint64_t published_as) {
    std::vector<std::shared_ptr<Target>> targets;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        Pending& pending = pending_[i];
        if (pending.settled || pending.published_as != published_as) continue;
        pending.returned = true;
        if (std::find(targets.begin(), targets.end(), pending.target) == targets.end())
            targets.push_back(pending.target);
    }
    return targets;
}

}  // namespace retryd::relay
