#include "relay/acks.h"

#include <algorithm>
#include <functional>

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// So long an ack waits for an older delivery that is still open; or less, where that may stay open for long.
constexpr Milliseconds late_acks_after{100};
constexpr Milliseconds late_acks_while_some_stay_open{20};
/// What was held back comes again so soon after its pause.
constexpr Milliseconds comes_again_within{2'000};
constexpr Milliseconds between_moments{1'000};

}  // namespace

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

std::vector<core::DeliveryTag> AckTracker::unsettled_tags() const {
    std::vector<core::DeliveryTag> tags;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        if (states_[i] != State::done) tags.push_back(first_ + i);
    }
    return tags;
}

void AckTracker::flush_unsent(AckPort& port) {
    for (auto i = static_cast<std::size_t>(std::max(first_to_ack_, first_) - first_); to_ack_ > 0; ++i) {
        if (states_[i] != State::to_ack) continue;
        port.ack(first_ + i, false);
        states_[i] = State::done;
        --to_ack_;
    }
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

void Deliveries::delivered(core::DeliveryTag tag) {
    acks_.delivered(tag);
    most_open_ = std::max(most_open_, acks_.open());
}

void Deliveries::requeue(core::DeliveryTag tag) {
    broker_.requeue(tag);
    acks_.forget(tag);
}

void Deliveries::requeue_stranded(core::SteadyTime until, core::DeliveryTag tag, bool redelivered,
                                  core::SteadyTime now) {
    requeue_at(until, tag);
    if (!stranded_since_) {
        stranded_since_ = now;
    } else if (!redelivered) {
        return;
    }
    stranded_until_ = std::max(stranded_until_, until);
}

bool Deliveries::keep(core::DeliveryTag tag, std::string_view why) {
    if (!broker_.keep(tag, why)) return false;
    acks_.forget(tag);
    return true;
}

void Deliveries::dead_letter(core::DeliveryTag tag) {
    broker_.dead_letter(tag);
    acks_.forget(tag);
}

void Deliveries::requeue_due(core::SteadyTime now) {
    while (const auto tag = requeues_.take_due(now))
        requeue(*tag);
}

void Deliveries::flush(bool some_stay_open, core::SteadyTime now) {
    acks_.flush(broker_);
    if (acks_.unsent() == 0) {
        late_acks_due_.reset();
    } else if (!late_acks_due_) {
        late_acks_due_ = now + (some_stay_open ? late_acks_while_some_stay_open : late_acks_after);
    } else if (*late_acks_due_ <= now) {
        flush_all();
    }
}

void Deliveries::flush_all() {
    acks_.flush(broker_);
    acks_.flush_unsent(broker_);
    late_acks_due_.reset();
}

void Deliveries::note_time(core::SteadyTime now) {
    if (stranded_since_ && now >= stranded_until_ + comes_again_within) stranded_since_.reset();
    while (!moments_.empty() && moments_.front().delivered < acks_.oldest_open())
        moments_.pop_front();
    if (acks_.open() == 0) return moments_.clear();
    if (moments_.empty() || now - moments_.back().time >= between_moments)
        moments_.push_back({acks_.last_delivered(), now});
}

std::optional<core::SteadyTime> Deliveries::unsettled_since() const {
    std::optional<core::SteadyTime> since = stranded_since_;
    if (!moments_.empty() && acks_.open() > 0)
        since = std::min(since.value_or(moments_.front().time), moments_.front().time);
    return since;
}

std::optional<core::SteadyTime> Deliveries::next_due() const {
    const auto requeue = requeues_.next();
    if (!requeue || !late_acks_due_) return requeue ? requeue : late_acks_due_;
    return std::min(*requeue, *late_acks_due_);
}

}  // namespace retryd::relay
