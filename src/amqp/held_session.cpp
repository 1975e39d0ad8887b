#include "amqp/held_session.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/reply_code.h"

namespace retryd::amqp {
namespace {

constexpr std::size_t held_messages_a_turn = 128;
constexpr std::size_t most_held_lanes = 200;
constexpr const char* held_consumer_tag = "retryd held";

}  // namespace

class HeldSession::ConsumerEvents : public Events {
  public:
    explicit ConsumerEvents(HeldSession& session) : session_(session) {}

    void on_delivery_on(Channel channel, const core::Delivery& delivery) override {
        Lane* const lane = session_.by_consume_channel(channel);
        if (lane != nullptr && !lane->closing_ && lane->release_ != nullptr) lane->release_->on_delivery(delivery);
    }
    void on_unreadable_delivery_on(Channel channel, core::DeliveryTag tag) override {
        Lane* const lane = session_.by_consume_channel(channel);
        if (lane != nullptr && !lane->closing_ && lane->release_ != nullptr)
            lane->release_->on_unreadable_delivery(tag);
    }
    void on_consumer_cancelled_on(Channel channel) override {
        if (Lane* const lane = session_.by_consume_channel(channel)) {
            lane->ended_ =
                "the broker took the consumer away: the queue was deleted, or its node went away, or a "
                "message was held for longer than the broker's consumer_timeout";
        }
    }
    void on_channel_closed(const ChannelClosed& closed) override {
        if (Lane* const lane = session_.by_consume_channel(closed.channel)) {
            lane->ended_ = closed.text;
            lane->consume_open_ = false;
            session_.forget_if_closed(*lane);
        }
    }
    void on_channel_left(Channel channel) override {
        if (Lane* const lane = session_.by_consume_channel(channel)) {
            lane->consume_open_ = false;
            session_.forget_if_closed(*lane);
        }
    }

  private:
    HeldSession& session_;
};

class HeldSession::PublisherEvents : public Events {
  public:
    explicit PublisherEvents(HeldSession& session) : session_(session) {}

    void on_confirm(Channel channel, relay::PublishSeq seq, bool multiple, bool acked) override {
        Lane* const lane = session_.by_publish_channel(channel);
        if (lane != nullptr && !lane->closing_ && lane->release_ != nullptr)
            lane->release_->on_confirm(seq, multiple, acked, session_.now_);
    }
    void on_returned(const Returned& returned) override {
        Lane* const lane = session_.by_publish_channel(returned.channel);
        if (lane != nullptr && !lane->closing_ && lane->release_ != nullptr)
            lane->release_->on_returned(returned.exchange, returned.routing_key);
    }
    void on_blocked(std::string_view) override { session_.blocked_ = true; }
    void on_unblocked() override { session_.blocked_ = false; }
    void on_channel_open(Channel channel) override { session_.declarer_.on_channel_open(channel); }
    void on_declared(Channel channel, const QueueCounts& counts) override {
        session_.declarer_.on_declared(channel, counts);
    }
    void on_channel_closed(const ChannelClosed& closed) override {
        if (session_.declarer_.owns(closed.channel)) return session_.declarer_.on_channel_closed(closed);
        if (Lane* const lane = session_.by_publish_channel(closed.channel)) {
            lane->ended_ = closed.text;
            lane->publish_open_ = false;
            session_.forget_if_closed(*lane);
        }
    }
    void on_channel_left(Channel channel) override {
        if (session_.declarer_.owns(channel)) return session_.declarer_.on_channel_left(channel);
        if (Lane* const lane = session_.by_publish_channel(channel)) {
            lane->publish_open_ = false;
            session_.forget_if_closed(*lane);
        }
    }

  private:
    HeldSession& session_;
};

HeldSession::HeldSession(const config::Endpoint& endpoint, const config::Broker& settings,
                         ConnectionClosingSteps& connection_closing_steps)
    : consuming_(Connection::open(endpoint, settings, "retryd release consume")),
      publishing_(Connection::open(endpoint, settings, "retryd release publish")),
      connection_closing_steps_(connection_closing_steps),
      aside_(endpoint, settings),
      declarer_(*publishing_, first_declare_channel, first_declare_channel + declare_channels - 1),
      most_lanes_(std::min<std::size_t>(most_held_lanes, std::max<std::size_t>(publishing_->last_channel(), 9) - 8)) {
    delegate_closing_steps(aside_, connection_closing_steps_, endpoint.vhost, declarer_);
    consuming_->receive_large_headers();
}

HeldSession::~HeldSession() {
    consuming_->close(close_timeout);
    publishing_->close(close_timeout);
}

core::BrokerVersion HeldSession::version() const {
    return publishing_->version();
}

std::array<int, 2> HeldSession::sockets() const {
    return {consuming_->fd(), publishing_->fd()};
}

HeldSession::Lane* HeldSession::open() {
    for (std::size_t slot = 0; slot < most_lanes_; ++slot) {
        auto& lane = lanes_[slot];
        if (lane) continue;
        lane = std::make_unique<Lane>(*this, slot);
        consuming_->open_channel(consume_channel(*lane));
        publishing_->open_channel(publish_channel(*lane));
        publishing_->confirm_select(publish_channel(*lane));
        return lane.get();
    }
    return nullptr;
}

void HeldSession::consume(Lane& lane, const std::string& queue, std::uint16_t prefetch, relay::Release& release) {
    lane.release_ = &release;
    lane.queue_ = queue;
    consuming_->qos(consume_channel(lane), prefetch);
    consuming_->consume(consume_channel(lane), queue, held_consumer_tag);
}

void HeldSession::close(Lane& lane) {
    if (lane.closing_) return;
    lane.closing_ = true;
    lane.release_ = nullptr;
    if (lane.consume_open_) consuming_->close_channel(consume_channel(lane));
    if (lane.publish_open_) publishing_->close_channel(publish_channel(lane));
    forget_if_closed(lane);
}

void HeldSession::forget_if_closed(Lane& lane) {
    if (lane.closing_ && !lane.consume_open_ && !lane.publish_open_) lanes_.erase(lane.slot_);
}

HeldSession::Lane* HeldSession::by_consume_channel(Channel channel) {
    const auto found = lanes_.find(static_cast<std::size_t>(channel) - 1);
    return found == lanes_.end() ? nullptr : found->second.get();
}

HeldSession::Lane* HeldSession::by_publish_channel(Channel channel) {
    constexpr Channel first = first_declare_channel + declare_channels;
    if (channel < first) return nullptr;
    const auto found = lanes_.find(static_cast<std::size_t>(channel - first));
    return found == lanes_.end() ? nullptr : found->second.get();
}

void HeldSession::carry_out(Declarer::Step step, Declarer::Sink sink) {
    declarer_.submit(std::move(step), std::move(sink));
}

void HeldSession::turn(const core::Now& now) {
    now_ = now;
    drain();
    aside_.turn();
    declarer_.on_tick(now.steady);
    publishing_->flush();
    consuming_->flush();
}

void HeldSession::drain() {
    PublisherEvents publisher(*this);
    ConsumerEvents consumer(*this);
    try {
        publishing_->drain(publisher, held_messages_a_turn);
        consuming_->drain(consumer, held_messages_a_turn);
    } catch (const Error&) {
        if (publishing_->closed_with() == core::reply_code::internal_error)
            connection_closing_steps_.add_asked(declarer_);
        throw;
    }
}

void HeldSession::wait(core::Milliseconds time) {
    publishing_->flush();
    consuming_->flush();
    const auto events = [](const Connection& connection) {
        return static_cast<short>(connection.gathered() ? POLLIN | POLLOUT : POLLIN);
    };
    std::array fds{pollfd{consuming_->fd(), events(*consuming_), 0},
                   pollfd{publishing_->fd(), events(*publishing_), 0}};
    poll(fds.data(), fds.size(), static_cast<int>(time.count()));
}

relay::PublishResult HeldSession::Lane::publish(const core::Publication& publication) {
    if (session_.blocked_ || closing_ || !publish_open_ || !ended_.empty()) return relay::PublishResult::would_block;
    return session_.publishing_->publish(publish_channel(*this), publication);
}

void HeldSession::Lane::ack(core::DeliveryTag tag, bool multiple) {
    if (closing_ || !consume_open_) return;
    last_ack_ = session_.now_.steady;
    session_.consuming_->ack(consume_channel(*this), tag, multiple);
}

void HeldSession::Lane::requeue(core::DeliveryTag tag) {
    if (closing_ || !consume_open_) return;
    session_.consuming_->nack_requeue(consume_channel(*this), tag);
}

bool HeldSession::Lane::acks_are_through(core::SteadyTime now) const {
    return now - last_ack_ >= ack_linger;
}

}  // namespace retryd::amqp
