#include "amqp/error_queue_watch.h"

namespace retryd::amqp {
namespace {

using core::Milliseconds;

/// With declare_timeout a queue that hangs is known within a minute.
constexpr Milliseconds look_again_after{25'000};
/// While a quorum queue has no leader for a moment, the broker counts no consumers.
constexpr Milliseconds look_twice_after{5'000};
/// What delivers works.
constexpr Milliseconds quiet_after{20'000};
/// An election takes a few seconds at most.
constexpr Milliseconds leaderless_after{15'000};
constexpr Milliseconds probe_again_after{5'000};
constexpr Milliseconds no_probe_for{5 * 60'000};

}  // namespace

void ErrorQueueWatch::consuming(core::SteadyTime now) {
    watching_ = true;
    if (!asked_) next(Question::look, now + look_again_after);
}

void ErrorQueueWatch::next(Question question, core::SteadyTime due) {
    next_ = question;
    due_ = due;
}

void ErrorQueueWatch::ask(Question question, core::SteadyTime now) {
    asked_ = question;
    asked_at_ = now;
    next(Question::look, now + look_again_after);
    question == Question::look ? commands_.look() : commands_.probe();
}

/// A consumer that gets a message gives it back, which counts towards the delivery limit up to RabbitMQ 4.2. So it is
/// asked for only while ours has room; or where none gets anything, and once more when that is over.
void ErrorQueueWatch::tick(core::SteadyTime now, const Allowed& allowed) {
    const bool waits_for_consumer = probing_since_ && delivered_at_ <= *probing_since_;
    if (waits_for_consumer && now - *probing_since_ >= leaderless_after) state_ = State::leaderless;
    if (!watching_ || asked_ || now < due_) return;
    if (next_ == Question::look) return allowed.look ? ask(Question::look, now) : void();
    const bool suspicious = looks_without_consumer_ > 0;
    const bool wanted = suspicious || now - delivered_at_ >= quiet_after;
    const bool takes_none = allowed.has_room || suspicious || state_ == State::leaderless;
    if (wanted && allowed.probe && takes_none && now >= no_probe_before_) return ask(Question::probe, now);
    if (state_ == State::leaderless) return next(Question::probe, now + probe_again_after);
    next(Question::look, now + (suspicious ? look_twice_after : look_again_after));
}

/// The broker may have removed our consumer without notice (3.8.9 does, now and then, when the queue is deleted). And
/// of a quorum queue whose leader does not answer it says that it has none (stat/2 in rabbit_quorum_queue.erl, 3.8 to
/// 4.3).
void ErrorQueueWatch::looked(Looked answer, std::optional<std::uint64_t> consumers, core::SteadyTime now) {
    asked_.reset();
    const bool delivers = delivered_at_ > asked_at_ - look_twice_after;
    if (answer == Looked::silent && delivered_at_ <= asked_at_) state_ = State::hangs;
    if (answer == Looked::answered && state_ == State::hangs) state_ = State::works;
    looks_without_consumer_ = consumers == 0 && !delivers ? looks_without_consumer_ + 1 : 0;
    if (looks_without_consumer_ > 1) state_ = State::consumer_gone;
    if (answer == Looked::answered) next(Question::probe, now);
}

void ErrorQueueWatch::probed(Probed answer, core::SteadyTime now) {
    asked_.reset();
    probing_since_.reset();
    if (answer == Probed::unknown) return probed_in_vain(now);
    probes_in_vain_ = 0;
    if (answer == Probed::answered) state_ = State::works;
    if (answer == Probed::unanswered && delivered_at_ <= asked_at_) {
        state_ = State::leaderless;
        looks_without_consumer_ = 0;
        return next(Question::probe, now + probe_again_after);
    }
    if (looks_without_consumer_ > 0) next(Question::look, now + look_twice_after);
}

/// Without a majority it stays until the queue says otherwise: a look could only say that it knows no consumer, which
/// would cost ours.
void ErrorQueueWatch::probed_in_vain(core::SteadyTime now) {
    ++probes_in_vain_;
    if (state_ == State::leaderless) return next(Question::probe, now + look_again_after);
    if (cannot_probe()) no_probe_before_ = now + no_probe_for;
    if (looks_without_consumer_ > 0) next(cannot_probe() ? Question::look : Question::probe, now + look_twice_after);
}

}  // namespace retryd::amqp
