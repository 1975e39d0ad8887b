#include "relay/in_flight.h"

#include <algorithm>
#include <utility>

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

void TargetFlow::was_silent(const Silence& silence) {
    begin(Trouble::silent, silence.since);
    next_try_ = silence.next_try;
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
