#include "relay/in_flight.h"

#include <algorithm>

#include "core/fingerprint.h"

namespace retryd::relay {

std::uint64_t hash_of_address(std::string_view exchange, std::string_view routing_key) {
    const std::uint64_t both[] = {core::fnv1a(exchange), core::fnv1a(routing_key)};
    return both[0] * 31 + both[1];
}

PublishSeq Unconfirmed::add(Pending pending) {
    pending_.push_back(std::move(pending));
    ++unanswered_;
    return first_ + pending_.size() - 1;
}

void Unconfirmed::answer(Pending& pending, std::vector<Pending>& answered) {
    if (pending.answered) return;
    answered.push_back(std::move(pending));
    pending.answered = true;
    --unanswered_;
}

void Unconfirmed::confirm(PublishSeq seq, bool multiple, std::vector<Pending>& answered) {
    if (seq < first_ || seq >= first_ + pending_.size()) return;
    const auto last = static_cast<std::size_t>(seq - first_);
    for (std::size_t i = multiple ? 0 : last; i <= last; ++i)
        answer(pending_[i], answered);
    while (!pending_.empty() && pending_.front().answered) {
        pending_.pop_front();
        ++first_;
    }
}

std::vector<Pending> Unconfirmed::abandon() {
    std::vector<Pending> unanswered;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        if (!pending_[i].answered) unanswered.push_back(std::move(pending_[i]));
    }
    pending_.clear();
    first_ = 1;
    unanswered_ = 0;
    return unanswered;
}

std::optional<core::SteadyTime> Unconfirmed::oldest() const {
    if (empty()) return std::nullopt;
    return pending_.front().sent_at;  // those at the front are unanswered: confirm() takes the answered ones off
}

bool Unconfirmed::any_redelivered() const {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        if (!pending_[i].answered && pending_[i].redelivered) return true;
    }
    return false;
}

std::vector<std::shared_ptr<Target>> Unconfirmed::mark_returned(std::uint64_t published_as) {
    std::vector<std::shared_ptr<Target>> targets;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        Pending& pending = pending_[i];
        if (pending.answered || pending.published_as != published_as) continue;
        pending.returned = true;
        if (std::find(targets.begin(), targets.end(), pending.target) == targets.end())
            targets.push_back(pending.target);
    }
    return targets;
}

void AckTracker::delivered(core::DeliveryTag tag) {
    if (states_.empty()) first_ = tag;
    states_.push_back(State::open);
    ++open_;
}

void AckTracker::close(core::DeliveryTag tag, State state) {
    if (tag < first_ || tag >= first_ + states_.size()) return;
    State& found = states_[static_cast<std::size_t>(tag - first_)];
    if (found != State::open) return;
    found = state;
    --open_;
    if (state != State::to_ack) return;
    if (to_ack_++ == 0 || tag < first_to_ack_) first_to_ack_ = tag;
}

void AckTracker::ack(core::DeliveryTag tag) {
    close(tag, State::to_ack);
}

void AckTracker::forget(core::DeliveryTag tag) {
    close(tag, State::done);
}

void AckTracker::flush(AckPort& port) {
    core::DeliveryTag up_to = 0;
    while (!states_.empty() && states_.front() != State::open) {
        if (states_.front() == State::to_ack) {
            up_to = first_;
            --to_ack_;
        }
        states_.pop_front();
        ++first_;
    }
    if (up_to != 0) port.ack(up_to, true);
}

void AckTracker::flush_unsent(AckPort& port) {
    for (auto i = static_cast<std::size_t>(std::max(first_to_ack_, first_) - first_); to_ack_ > 0; ++i) {
        if (states_[i] != State::to_ack) continue;
        port.ack(first_ + i, false);
        states_[i] = State::done;
        --to_ack_;
    }
}

}  // namespace retryd::relay
