#include "relay/in_flight.h"

#include <algorithm>
#include <functional>

#include "core/fingerprint.h"

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

namespace {

using core::Milliseconds;

constexpr std::size_t growth = 8;  // for every confirm: 4, 36, 324 … a round trip each
constexpr std::size_t largest_window = 4'096;
/// A confirm that took longer makes the window no larger, and one that took much longer makes it smaller: what waits
/// for a slow target takes room of the prefetch from the others.
constexpr Milliseconds slow_confirm{400};
constexpr Milliseconds too_slow_confirm{800};
/// Where nothing was confirmed for a while, it may be gone: no more than the broker's channel sends to a quorum queue
/// before it stops reading from the connection (rabbit_fifo_client.erl: 32).
constexpr std::size_t window_after_idling = 32;
constexpr Milliseconds idle{1'000};
/// A silent target is tried again after this, and after twice as long each time.
constexpr Milliseconds silent_tried_after{15'000};
constexpr Milliseconds silent_tried_at_last_after{8 * 60'000};
/// Each try that stays without an answer holds a channel.
constexpr int most_unanswered_tries = 2;
constexpr Milliseconds suspects_for{60'000};

}  // namespace

Milliseconds backoff(int failures) {
    constexpr Milliseconds first{1'000};
    constexpr Milliseconds longest{30'000};
    const int doublings = std::clamp(failures - 1, 0, 10);
    return std::min(first * (1 << doublings), longest);
}

bool TargetFlow::takes(core::SteadyTime now) const {
    if (suspects(now) && in_flight_ > 0) return false;
    switch (trouble_) {
        case Trouble::none:
            return in_flight_ < window_;
        case Trouble::refusing:
            return in_flight_ == 0 && now >= next_try_;
        case Trouble::silent:
            break;
    }
    return now >= next_try_ && unanswered_tries_ < most_unanswered_tries;
}

Milliseconds TargetFlow::pause(core::SteadyTime now) const {
    const Milliseconds age = trouble_ == Trouble::none ? Milliseconds::zero() : now - since_;
    return std::max(backoff(failures_), std::min(age / 2, backoff(10)));
}

void TargetFlow::sent(core::SteadyTime now) {
    if (in_flight_++ == 0 && now - answered_at_ > idle) window_ = std::min(window_, window_after_idling);
    if (trouble_ != Trouble::silent) return;
    ++unanswered_tries_;
    next_try_ = now + std::clamp(2 * (now - since_), silent_tried_after, silent_tried_at_last_after);
}

void TargetFlow::confirmed(core::SteadyTime sent_at, core::SteadyTime now, bool redelivered) {
    --in_flight_;
    proven_ = true;
    answered_at_ = now;
    failures_ = 0;
    unanswered_tries_ = 0;
    if (redelivered && suspects_ > 0) --suspects_;
    const Milliseconds took = now - sent_at;
    if (trouble_ != Trouble::none) {
        window_ = first_window;
    } else if (took < slow_confirm) {
        window_ = std::min(window_ + growth, largest_window);
    } else if (took >= too_slow_confirm) {
        window_ = std::max(window_ - 1, first_window);
    }
    trouble_ = Trouble::none;
}

void TargetFlow::refused(core::SteadyTime sent_at, core::SteadyTime now, bool mended) {
    --in_flight_;
    answered_at_ = now;
    unanswered_tries_ = std::max(unanswered_tries_ - 1, 0);
    // What had been sent before the last failure was known is part of it: a burst that is refused is one failure.
    if (failures_ == 0 || sent_at > failed_at_) {
        ++failures_;
        failed_at_ = now;
        next_try_ = now + backoff(failures_);
    }
    if (!mended || failures_ > 1) begin(Trouble::refusing, now);
}

void TargetFlow::returned(core::SteadyTime now) {
    --in_flight_;
    answered_at_ = now;
    unanswered_tries_ = std::max(unanswered_tries_ - 1, 0);
}

void TargetFlow::silent(std::size_t unanswered, core::SteadyTime now) {
    in_flight_ -= unanswered;
    if (unanswered > 0 && silent_channels_++ == 0) silences_ = 0;
    if (trouble_ == Trouble::none) ++silences_;
    // Each silence may hold a channel: one that answers in between must not take them all.
    const int doublings = std::clamp(silences_ - 1, 0, 10);
    next_try_ = std::max(next_try_, now + std::min(silent_tried_after * (1 << doublings), silent_tried_at_last_after));
    begin(Trouble::silent, now);
}

void TargetFlow::was_silent(core::SteadyTime now) {
    silent(0, now);
    was_silent_ = true;
}

bool TargetFlow::take_silence_report(core::SteadyTime now, core::Milliseconds after) {
    if (trouble_ != Trouble::silent || !silence_unreported_ || now - since_ < after) return false;
    silence_unreported_ = false;
    return true;
}

void TargetFlow::silence_over(std::size_t unanswered) {
    in_flight_ += unanswered;
    --silent_channels_;
}

void TargetFlow::given_up() {
    --in_flight_;
    unanswered_tries_ = std::max(unanswered_tries_ - 1, 0);
}

void TargetFlow::declared(core::SteadyTime now) {
    if (trouble_ == Trouble::silent && !std::exchange(was_silent_, false)) next_try_ = now;
}

void TargetFlow::begin(Trouble trouble, core::SteadyTime now) {
    if (trouble_ == Trouble::none) {
        since_ = now;
        silence_unreported_ = trouble == Trouble::silent;  // one that refuses has been told as such
    }
    trouble_ = trouble;
}

void TargetFlow::one_at_a_time(std::size_t suspects, core::SteadyTime now) {
    suspects_ = suspects;
    suspects_until_ = now + suspects_for;
}

}  // namespace retryd::relay
