#include "amqp/queue_io.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/duration.h"
#include "system/clock.h"

namespace retryd::amqp {

namespace {

using Clock = std::chrono::steady_clock;
using core::Milliseconds;

constexpr std::size_t frames_a_turn = 1'000;
/// A quorum queue hands out all that a consumer may hold in one step, in which it does nothing else; and to ack one
/// message the broker walks through half of what the consumer holds. So it holds no more than this, where there may be
/// that many consumers.
constexpr std::size_t unacked_without_need = 8'192;
/// Of who needs few: enough for acks to be on their way while more messages come.
constexpr std::size_t first_few = 32;
/// Up to RabbitMQ 4.2 so many consumers of one channel give back what they hold in its order.
constexpr std::size_t most_consumers_in_order = 32;
constexpr core::BrokerVersion any_number_in_order{4, 3, 0};
/// So long the queue has to take back what a channel held. If it takes longer, another consumer takes from it, and
/// there is no order to keep.
constexpr Milliseconds return_timeout{5'000};
constexpr Milliseconds ask_again_after{5};

/// In the order of their numbers: the broker gives back what they hold in the order of these texts.
std::string reader_tag(std::size_t number) {
    std::string digits = std::to_string(number);
    digits.insert(0, 5 - std::min<std::size_t>(5, digits.size()), '0');
    return "retryd parked " + digits;
}

}  // namespace

QueueReader::QueueReader(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name,
                         std::size_t window, Use use)
    : connection_(Connection::open(endpoint, settings, name)),
      features_(core::features_of(connection_->version())),
      use_(use),
      full_window_(std::min(window, most_unacked)) {
    connection_->receive_large_headers();
}

QueueReader::~QueueReader() {
    if (!lost_) connection_->close(close_timeout);
}

std::size_t QueueReader::begin(const std::string& queue, std::size_t ready) {
    begun_ = true;
    queue_ = queue;
    ready_ = ready;
    full_window_ = window_for(ready);
    consume(next_window());
    return window_;
}

void QueueReader::keep_few_unacked(std::size_t given_back) {
    few_ = first_few;
    given_back_ = given_back;
}

bool QueueReader::past_given_back() const {
    return std::accumulate(held_.begin(), held_.end(), std::size_t{0}) >= given_back_;
}

std::size_t QueueReader::next_window() {
    if (few_ == 0 || !features_.clean_cancel) return full_window_;
    const std::size_t held = std::accumulate(held_.begin(), held_.end(), std::size_t{0});
    if (held < given_back_)
        return std::min(full_window_, held == 0 ? std::max(first_few, given_back_) : given_back_ - held);
    return std::min(full_window_, std::exchange(few_, std::min(full_window_, few_ * 2)));
}

std::size_t QueueReader::window_for(std::size_t ready) const {
    if (!features_.clean_cancel) return full_window_;
    if (use_ == Use::look && !(connection_->version() < any_number_in_order))
        return std::min(full_window_, unacked_without_need);
    const std::size_t consumers =
        use_ == Use::look ? most_consumers_in_order - 1 : std::max<std::size_t>(1, connection_->last_channel() / 2U);
    return std::min(full_window_, std::max(unacked_without_need, ready / consumers + 1));
}

bool QueueReader::can_go_on() const {
    return features_.clean_cancel && (use_ == Use::look || channel_ + 1 < asking_channel());
}

/// The last of all: none of the consumers gets there.
Channel QueueReader::asking_channel() const {
    return connection_->last_channel();
}

/// A prefetch counts for the consumer that comes after it.
void QueueReader::consume(std::size_t window) {
    if (channel_ == 0 || use_ == Use::settle) connection_->open_channel(++channel_);
    window_ = window;
    expected_by_consumer_ = std::min(window, ready_ - std::min(ready_, delivered_));
    delivered_to_consumer_ = 0;
    consuming_ = false;
    last_delivery_ = Clock::now();
    consumer_tag_ = reader_tag(++consumers_);
    connection_->qos(channel_, static_cast<std::uint16_t>(window));
    connection_->consume(channel_, queue_, consumer_tag_);
}

/// Nothing is on its way to a consumer that is full, so that nothing goes back when it is cancelled.
std::size_t QueueReader::go_on(bool only_to_leave, const Meanwhile& meanwhile) {
    cancel(meanwhile);
    held_.push_back(window_);
    const bool one = only_to_leave && !tried_one_ && past_given_back();
    tried_one_ = tried_one_ || one;
    if (ended_.empty()) consume(one ? 1 : next_window());
    return window_;
}

void QueueReader::cancel(const Meanwhile& meanwhile) {
    // RabbitMQ 3.10 closes the connection (541) if basic.cancel overtakes basic.consume within the broker.
    await([&] { return consuming_; }, meanwhile);
    cancelled_ = false;
    if (ended_.empty()) connection_->cancel(channel_, consumer_tag_);
    await([&] { return cancelled_; }, meanwhile);
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
        if (!connection_->ended_by_message()) throw;
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
    connection_->ack(channel_, tag, multiple);
}

/// What comes meanwhile is not looked at: it goes back with the rest.
void QueueReader::leave(const Meanwhile& meanwhile) {
    if (!begun_ || !ended_.empty()) return;
    await([&] { return consuming_; }, meanwhile);
    // What the acks have made room for has to be here before the consumer goes.
    await([&] { return all_here(); }, meanwhile);
    // Before 3.10 what is on its way when the consumer is cancelled arrives twice: there only the channel is closed.
    if (features_.clean_cancel) cancel(meanwhile);
    give_back(meanwhile);
}

/// The queue hears that a channel has ended from the channel itself, a moment after we do.
void QueueReader::give_back(const Meanwhile& meanwhile) {
    std::size_t ready = 0;
    if (channel_ > only_channel) {
        connection_->open_channel(asking_channel());
        ready = count_ready(meanwhile);
    }
    for (Channel channel = only_channel; channel <= channel_; ++channel) {
        left_ = false;
        if (ended_.empty()) connection_->close_channel(channel);
        await([&] { return left_; }, meanwhile);
        if (channel == channel_) return;
        ready += held_[channel - only_channel];
        await_return(ready, meanwhile);
    }
}

void QueueReader::await_return(std::size_t ready, const Meanwhile& meanwhile) {
    const auto deadline = Clock::now() + return_timeout;
    while (asks_ && ended_.empty() && count_ready(meanwhile) < ready) {
        asks_ = Clock::now() < deadline;
        if (asks_) wait_for_frames(ask_again_after);
    }
}

std::size_t QueueReader::count_ready(const Meanwhile& meanwhile) {
    answered_ = false;
    connection_->check_queue(asking_channel(), queue_);
    await([&] { return answered_ || !asks_; }, meanwhile);
    return counted_;
}

bool QueueReader::all_here() const {
    if (Clock::now() - last_ack_ < ack_linger) return false;
    return delivered_to_consumer_ >= expected_by_consumer_ || silent();
}

bool QueueReader::may_leave() const {
    return all_here() && (met_untouched_ || delivered_ >= ready_ || !can_go_on() || silent());
}

bool QueueReader::needs_more_to_leave() const {
    return all_here() && !may_leave();
}

/// Another consumer may have taken some: then no more come.
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
void QueueReader::await(Condition condition, const Meanwhile& meanwhile) {
    auto deadline = Clock::now() + answer_timeout;
    while (!condition() && ended_.empty()) {
        const std::size_t before = delivered_;
        drain(frames_a_turn);
        if (delivered_ != before) deadline = Clock::now() + answer_timeout;
        if (condition() || !ended_.empty()) return;
        if (Clock::now() >= deadline) {
            throw Error(Error::Kind::lost, "the broker has not answered for " + core::format_duration(answer_timeout));
        }
        meanwhile();
        wait_for_frames(std::min({system::left_until(deadline), longest_poll, ack_linger / 5}));
    }
}

void QueueReader::wait_for_frames(Milliseconds longest) {
    pollfd readable{connection_->fd(), POLLIN, 0};
    poll(&readable, 1, static_cast<int>(std::max(longest, Milliseconds{0}).count()));
}

/// What still comes to one that is cancelled goes back with the rest.
void QueueReader::on_delivery_on(Channel channel, const core::Delivery& delivery) {
    if (channel != channel_) return;
    count_delivery();
    if (!delivery.redelivered) met_untouched_ = true;
    if (sink_ != nullptr) sink_->on_delivery(delivery);
}

void QueueReader::on_unreadable_delivery_on(Channel channel, core::DeliveryTag tag) {
    if (channel != channel_) return;
    count_delivery();
    if (sink_ != nullptr) sink_->on_unreadable_delivery(tag);
}

void QueueReader::on_declared(Channel, const QueueCounts& counts) {
    counted_ = counts.messages;
    answered_ = true;
}

void QueueReader::on_consumer_cancelled() {
    ended_ =
        "the broker took the consumer away: the queue was deleted, its node went away, or a message was held for "
        "longer than the broker's consumer_timeout";
}

void QueueReader::on_channel_closed(const ChannelClosed& closed) {
    if (closed.channel == asking_channel() && closed.channel != channel_) {
        asks_ = false;
        return;
    }
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
