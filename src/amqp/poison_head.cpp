#include "amqp/poison_head.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/safe_text.h"
#include "system/clock.h"

namespace retryd::amqp {

namespace {

constexpr Channel only_consumer = 1;
constexpr const char* consumer_tag = "retryd-head";
/// If nothing has come so long after the consumer was there, the queue is empty, another daemon has its head, or the
/// broker is still busy with it: it is asked.
constexpr core::Milliseconds delivered_within{300};
/// A broker that is slow as a whole and is taken for a busy one only costs a connection (keep()).
constexpr core::Milliseconds answered_within{500};
/// Each takes a moment in which nothing else is retried, and a stranger may send any number. In turns, those that can
/// be retried come as well.
constexpr std::size_t most_dead_lettered = 32;

}  // namespace

HeadProbe::HeadProbe(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                     Unreadable unreadable)
    : HeadProbe(Connection::open(endpoint, settings, "retryd head"), queue, unreadable) {}

HeadProbe::~HeadProbe() = default;

void HeadProbe::serve() {
    connection_->drain(*this, 1);
}

HeadProbe::HeadProbe(std::unique_ptr<Connection> connection, const std::string& queue, Unreadable unreadable)
    : connection_(std::move(connection)), unreadable_(unreadable), patience_(answered_within) {
    connection_->receive_large_headers();
    connection_->open_channel(only_consumer);
    connection_->qos(only_consumer, 1);
    ++answers_owed_;
    connection_->consume(only_consumer, queue, consumer_tag);
    since_ = system::steady_now();
}

HeadProbe::Sees HeadProbe::look() {
    const core::SteadyTime begin = system::steady_now();
    while (system::steady_now() - begin < answer_timeout) {
        try {
            connection_->drain(*this, 1);
            if (const auto what = seen()) return *what;
        } catch (const Error&) {
            if (dead_lettered_) return Sees::message;
            if (!delivered_ && connection_->ended_by_message()) return Sees::connection_closed;
            throw;
        }
        wait(consuming_ ? delivered_within : longest_poll);
    }
    throw Error(Error::Kind::lost,
                "the broker has not answered a consumer for " + std::to_string(answer_timeout.count() / 1'000) + " s");
}

HeadProbe::Sees HeadProbe::look_and_keep(core::Milliseconds silence) {
    keeps_ = true;
    patience_ = silence;
    return look();
}

/// basic.qos is answered on the channel, behind all that the broker writes on it.
std::optional<HeadProbe::Sees> HeadProbe::seen() {
    if (delivered_) {
        if (!keeps_) linger();
        return Sees::message;
    }
    if (!consuming_) return std::nullopt;
    if (asked_ && answers_owed_ == 0) {
        connection_->close(close_timeout);
        return Sees::nothing;
    }
    // A large message takes its time on the way.
    if (connection_->receiving(only_consumer)) since_ = system::steady_now();
    if (asked_) return waited() >= patience_ ? std::optional(Sees::silence) : std::nullopt;
    if (waited() < delivered_within) return std::nullopt;
    asked_ = true;
    connection_->qos(only_consumer, 1);
    ++answers_owed_;
    since_ = system::steady_now();
    return std::nullopt;
}

bool HeadProbe::keep_waiting(core::SteadyTime now) noexcept {
    try {
        connection_->drain(*this, 1);
        if (settled_at_) return now - *settled_at_ < ack_linger;
        const bool free = delivered_ || (answers_owed_ == 0 && !connection_->receiving(only_consumer));
        if (!free) return true;
        if (!dead_lettered_) connection_->cancel(only_consumer, consumer_tag);
        if (delivered_ && !dead_lettered_) connection_->nack_requeue(only_consumer, *delivered_);
        settled_at_ = now;
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

void HeadProbe::on_consume_ok() {
    consuming_ = true;
    since_ = system::steady_now();
}

void HeadProbe::on_qos_ok(Channel /*channel*/) {
    --answers_owed_;
}

void HeadProbe::on_delivery(const core::Delivery& delivery) {
    delivered_ = delivery.tag;
}

/// Rejected from here, since rabbitmq-c may read nothing more on this connection.
void HeadProbe::on_unreadable_delivery(core::DeliveryTag tag) {
    delivered_ = tag;
    if (unreadable_ == Unreadable::goes_back) return;
    connection_->cancel(only_consumer, consumer_tag);
    connection_->reject(only_consumer, tag);
    connection_->flush();
    dead_lettered_ = true;
}

void HeadProbe::on_channel_closed(const ChannelClosed& closed) {
    throw Error(Error::Kind::refused, "the broker closed the consuming channel: " + core::safe_name(closed.text));
}

core::Milliseconds HeadProbe::waited() const {
    return system::steady_now() - since_;
}

void HeadProbe::wait(core::Milliseconds time) const {
    pollfd readable{connection_->fd(), POLLIN, 0};
    poll(&readable, 1, static_cast<int>(time.count()));
}

/// Not to this consumer again; and not by closing the connection, which counts as one more delivery in vain.
void HeadProbe::give_back() {
    if (dead_lettered_) return;
    connection_->cancel(only_consumer, consumer_tag);
    connection_->nack_requeue(only_consumer, *delivered_);
    connection_->flush();
}

void HeadProbe::linger() {
    give_back();
    const core::SteadyTime until = system::steady_now() + ack_linger;
    for (auto left = ack_linger; left > core::Milliseconds::zero(); left = until - system::steady_now()) {
        wait(left);
        connection_->drain(*this, 1);
    }
    connection_->close(close_timeout);
}

namespace {

constexpr core::Milliseconds between_turns{100};

}  // namespace

BlockedHeadConnections::BlockedHeadConnections() = default;
BlockedHeadConnections::~BlockedHeadConnections() = default;

bool BlockedHeadConnections::keep(std::unique_ptr<HeadProbe> head) {
    if (heads_.size() >= most) return false;
    heads_.push_back(std::move(head));
    return true;
}

void BlockedHeadConnections::turn(core::SteadyTime now) {
    if (heads_.empty() || now < due_) return;
    due_ = now + between_turns;
    std::erase_if(heads_, [&](const auto& head) {
        const bool before = head->dead_lettered();
        const bool waits = head->keep_waiting(now);
        if (head->dead_lettered() && !before) note_dead_lettered();
        return !waits;
    });
}

/// The queue must have got a rejection before its connection ends: turn() takes that away.
void BlockedHeadConnections::release() {
    std::erase_if(heads_, [](const auto& head) { return !head->dead_lettered(); });
}

PoisonHead exhaust_delivery_limit(const ProbedQueue& queue, BlockedHeadConnections& blocked, int most_attempts,
                                  core::Milliseconds pause, const std::function<bool()>& go_on) {
    PoisonHead head;
    std::size_t dead_lettered = 0;
    const auto is = [&head](PoisonHead::State state) {
        head.state = state;
        return head;
    };
    while (go_on()) {
        std::this_thread::sleep_for(pause);
        blocked.turn(system::steady_now());
        auto probe = std::make_unique<HeadProbe>(queue.endpoint, queue.settings, queue.name, queue.unreadable);
        const HeadProbe::Sees sees = probe->look();
        if (probe->dead_lettered()) {
            blocked.note_dead_lettered();
            head.set_any_aside = true;
            if (++dead_lettered >= most_dead_lettered) return is(PoisonHead::State::none);
            continue;
        }
        if (sees == HeadProbe::Sees::message) return is(PoisonHead::State::another);
        if (sees == HeadProbe::Sees::nothing) return is(PoisonHead::State::none);
        if (sees == HeadProbe::Sees::connection_closed && ++head.connections_ended >= most_attempts)
            return is(PoisonHead::State::stays);
        if (sees != HeadProbe::Sees::silence) continue;
        if (!blocked.keep(std::move(probe))) return is(PoisonHead::State::none);
        head.set_any_aside = true;
    }
    return is(PoisonHead::State::stopped);
}

}  // namespace retryd::amqp
