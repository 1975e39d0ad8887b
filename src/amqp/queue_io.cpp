#include "amqp/queue_io.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/duration.h"
#include "core/reply_code.h"
#include "system/clock.h"

namespace retryd::amqp {

namespace {

using Clock = std::chrono::steady_clock;
using core::Milliseconds;

constexpr std::size_t frames_a_turn = 1'000;

/// In the order of their numbers: the broker gives back what they hold in the order of these texts.
std::string reader_tag(std::size_t number) {
    std::string digits = std::to_string(number);
    digits.insert(0, 5 - std::min<std::size_t>(5, digits.size()), '0');
    return "retryd parked " + digits;
}

}  // namespace

QueueReader::QueueReader(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name,
                         std::size_t window)
    : connection_(Connection::open(endpoint, settings, name)),
      features_(core::features_of(connection_->version())),
      full_window_(std::min(window, most_held)) {
    connection_->receive_large_headers();
}

QueueReader::~QueueReader() {
    if (!lost_) connection_->close(close_timeout);
}

void QueueReader::begin(const std::string& queue, std::size_t ready) {
    begun_ = true;
    queue_ = queue;
    ready_ = ready;
    connection_->open_channel(only_channel);
    consume(full_window_);
}

/// A prefetch counts for the consumer that comes after it.
void QueueReader::consume(std::size_t window) {
    window_ = window;
    expected_by_consumer_ = std::min(window, ready_ - std::min(ready_, delivered_));
    delivered_to_consumer_ = 0;
    consuming_ = false;
    last_delivery_ = Clock::now();
    consumer_tag_ = reader_tag(++consumers_);
    connection_->qos(only_channel, static_cast<std::uint16_t>(window));
    connection_->consume(only_channel, queue_, consumer_tag_);
}

/// Nothing is on its way to a consumer that is full, so that nothing goes back when it is cancelled.
std::size_t QueueReader::go_on(bool only_to_leave) {
    // RabbitMQ 3.10 closes the connection (541) if basic.cancel overtakes basic.consume within the broker.
    await([&] { return consuming_; });
    cancelled_ = false;
    if (ended_.empty()) connection_->cancel(only_channel, consumer_tag_);
    await([&] { return cancelled_; });
    const bool one = only_to_leave && !tried_one_;
    tried_one_ = tried_one_ || one;
    if (ended_.empty()) consume(one ? 1 : full_window_);
    return window_;
}

bool QueueReader::turn(DeliverySink& sink, std::size_t limit) {
    sink_ = &sink;
    const bool more = drain(limit);
    sink_ = nullptr;
    return more;
}

bool QueueReader::drain(std::size_t limit) {
    try {
        return connection_->drain(*this, limit);
    } catch (const Error&) {
        if (connection_->closed_with() != core::reply_code::internal_error) throw;
        lost_ = true;
        ended_ =
            "next, after " + std::to_string(delivered_) +
            ", comes a message that RabbitMQ cannot hand over: it ended the connection (541 INTERNAL_ERROR). That "
            "message and what lies behind it cannot be reached until it is taken out: see \"A message that RabbitMQ "
            "cannot hand over\" in docs/operations.md";
        return false;
    }
}

void QueueReader::ack(core::DeliveryTag tag, bool multiple) {
    if (!ended_.empty()) return;  // the broker has given it back already, and would close the channel over the ack
    last_ack_ = Clock::now();
    connection_->ack(only_channel, tag, multiple);
}

/// What comes meanwhile is not looked at: it goes back with the rest.
void QueueReader::leave() {
    if (!begun_ || !ended_.empty()) return;
    // RabbitMQ 3.10 closes the connection (541) if basic.cancel overtakes basic.consume within the broker.
    await([&] { return consuming_; });
    // What the acks have made room for has to be here before the consumer goes.
    await([&] { return all_here(); });
    cancelled_ = false;
    // Before 3.10 what is on its way when the consumer is cancelled arrives twice: there only the channel is closed.
    if (features_.clean_cancel) {
        connection_->cancel(only_channel, consumer_tag_);
        await([&] { return cancelled_; });
    }
    connection_->close_channel(only_channel);
    await([&] { return left_; });
}

bool QueueReader::all_here() const {
    if (Clock::now() - last_ack_ < ack_linger) return false;
    return delivered_to_consumer_ >= expected_by_consumer_ || silent();
}

bool QueueReader::may_leave() const {
    return all_here() && (met_untouched_ || delivered_ >= ready_ || !can_go_on() || silent());
}

/// Somebody else may have taken some: then no more come.
bool QueueReader::silent() const {
    constexpr Milliseconds long_silence{5'000};
    return Clock::now() - last_delivery_ >= long_silence;
}

void QueueReader::count_delivery() {
    ++delivered_;
    ++delivered_to_consumer_;
    last_delivery_ = Clock::now();
}

template <typename Condition>
void QueueReader::await(Condition condition) {
    auto deadline = Clock::now() + answer_timeout;
    while (!condition() && ended_.empty()) {
        const std::size_t before = delivered_;
        drain(frames_a_turn);
        if (delivered_ != before) deadline = Clock::now() + answer_timeout;
        if (condition() || !ended_.empty()) return;
        if (Clock::now() >= deadline) {
            throw Error(Error::Kind::lost, "the broker has not answered for " + core::format_duration(answer_timeout));
        }
        wait_for_frames(std::min({system::left_until(deadline), longest_poll, ack_linger / 5}));
    }
}

void QueueReader::wait_for_frames(Milliseconds longest) {
    pollfd readable{connection_->fd(), POLLIN, 0};
    poll(&readable, 1, static_cast<int>(std::max(longest, Milliseconds{0}).count()));
}

void QueueReader::on_delivery(const core::Delivery& delivery) {
    count_delivery();
    if (!delivery.redelivered) met_untouched_ = true;
    if (sink_ != nullptr) sink_->on_delivery(delivery);
}

void QueueReader::on_unreadable_delivery(core::DeliveryTag tag) {
    count_delivery();
    if (sink_ != nullptr) sink_->on_unreadable_delivery(tag);
}

void QueueReader::on_consumer_cancelled() {
    ended_ =
        "the broker took the consumer away: the queue was deleted, its node went away, or a message was held for "
        "longer than the broker's consumer_timeout";
}

void QueueReader::on_channel_closed(const ChannelClosed& closed) {
    if (!consuming_)
        throw Error(Error::Kind::refused, "the broker refuses to let retryd read the queue: " + closed.text);
    ended_ = "the broker closed the channel: " + closed.text;
}

int QueueReader::fd() const {
    return connection_->fd();
}

QueueWriter::QueueWriter(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name)
    : connection_(Connection::open(endpoint, settings, name)) {
    connection_->open_channel(only_channel);
    connection_->confirm_select(only_channel);
}

QueueWriter::~QueueWriter() {
    connection_->close(close_timeout);
}

relay::PublishResult QueueWriter::publish(const core::Publication& publication) {
    if (!blocked_.empty() || !closed_.empty()) return relay::PublishResult::would_block;
    return connection_->publish(only_channel, publication);
}

bool QueueWriter::turn(ConfirmSink& sink) {
    sink_ = &sink;
    connection_->drain(*this, frames_a_turn);
    return connection_->flush();
}

int QueueWriter::fd() const {
    return connection_->fd();
}

bool QueueWriter::wants_room() const {
    return connection_->gathered();
}

core::SteadyTime QueueWriter::waits_since(core::SteadyTime sent, core::SteadyTime now) {
    return send_progress_.waits_since(sent, now, {connection_->queued(), connection_->taken()});
}

}  // namespace retryd::amqp
