// The two connections of a command that looks into a queue or empties it: QueueReader and QueueWriter.
//
// QueueReader reads from the head without taking anything out: every message stays unacked until it is settled, and
// what is not goes back to where it lay when the reader leaves.
//
// That it goes back in its order takes care. A quorum queue gives back what one consumer holds in the order in which it
// was delivered (return_all in rabbit_fifo.erl, 3.10 to 4.3), but behind whatever was given back before: what lies in
// front of a queue that somebody has looked at. So every reader takes as much as a consumer can hold; then nothing
// of that is left to get in front. And what is still on its way to a consumer that is cancelled goes back at once, in
// front of the rest (handle_delivery in rabbit_fifo_client.erl). So the way out is: wait until all that was there has
// come, and what the acks have made room for, too; then basic.cancel, then channel.close, each answered before the next
// step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "amqp/events.h"
#include "amqp/send_progress.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "relay/broker.h"

namespace retryd::amqp {

class Connection;

class DeliverySink {
  public:
    virtual ~DeliverySink() = default;
    virtual void on_delivery(const core::Delivery& delivery) = 0;
    /// Its headers nest too deep to be read.
    virtual void on_unreadable_delivery(core::DeliveryTag tag) = 0;
};

/// Every call throws Error when the connection is lost.
class QueueReader : private Events {
  public:
    /// Connects. `settings` must outlive it.
    QueueReader(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name);
    ~QueueReader() override;
    QueueReader(const QueueReader&) = delete;
    QueueReader& operator=(const QueueReader&) = delete;

    /// The most that a consumer can hold unacked: 16 bits.
    static constexpr std::size_t most_held = 65'535;

    /// Once only. `ready`: how many messages lie there, as the broker counts them.
    void begin(const std::string& queue, std::size_t ready);

    /// Takes in at most `limit` messages, without waiting; with 0 it reads nothing and keeps the connection alive.
    /// True if there may be more already.
    bool turn(DeliverySink& sink, std::size_t limit);

    void ack(core::DeliveryTag tag, bool multiple);

    /// The broker took the consumer away and gave what it held back to the queue: because it held a message for too
    /// long (consumer_timeout), or because the queue or its node is gone. Or it ended the connection, because it cannot
    /// hand over what comes next (relay/head_trial.h). The reason; empty as long as it reads.
    const std::string& ended() const { return ended_; }
    /// Whether it was that message (amqp/undeliverable.h).
    bool met_undeliverable() const { return lost_; }

    /// Whether all has come that is to come before it may leave: what was there, and what the acks have made room for.
    bool all_here() const;

    /// Gives back what is not acked. Waits until the broker has done with the acks, too.
    void leave();

    int fd() const;

  private:
    bool drain(std::size_t limit);
    void count_delivery();
    template <typename Condition>
    void await(Condition condition);
    void wait_for_frames(core::Milliseconds longest);

    void on_delivery(const core::Delivery& delivery) override;
    void on_unreadable_delivery(core::DeliveryTag tag) override;
    void on_consume_ok() override { consuming_ = true; }
    void on_cancel_ok() override { cancelled_ = true; }
    void on_channel_left(Channel) override { left_ = true; }
    void on_consumer_cancelled() override;
    void on_channel_closed(const ChannelClosed& closed) override;

    std::unique_ptr<Connection> connection_;
    core::BrokerFeatures features_;
    DeliverySink* sink_ = nullptr;
    std::size_t expected_ = 0;
    std::size_t delivered_ = 0;
    std::chrono::steady_clock::time_point last_delivery_{};
    std::chrono::steady_clock::time_point last_ack_{};
    std::string ended_;
    bool begun_ = false;
    bool consuming_ = false;
    bool cancelled_ = false;
    bool left_ = false;
    bool lost_ = false;  // the connection
};

class ConfirmSink {
  public:
    virtual ~ConfirmSink() = default;
    virtual void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) = 0;
    virtual void on_returned(std::string_view exchange, std::string_view routing_key) = 0;
};

/// Publishes on a connection of its own: a broker under an alarm stops reading from it, and acks must not wait for
/// that. Every call throws Error when the connection is lost.
class QueueWriter : private Events {
  public:
    /// Connects. `settings` must outlive it.
    QueueWriter(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name);
    ~QueueWriter() override;
    QueueWriter(const QueueWriter&) = delete;
    QueueWriter& operator=(const QueueWriter&) = delete;

    relay::PublishResult publish(const core::Publication& publication);
    /// Sends what has gathered and takes in what is there, without waiting. False: the socket is full.
    bool turn(ConfirmSink& sink);

    /// The broker takes nothing (memory or disk alarm), in its own words; empty: it does.
    const std::string& blocked() const { return blocked_; }
    /// It closed the channel over a publication, in its own words; empty as long as it is open.
    const std::string& closed() const { return closed_; }

    int fd() const;
    /// Whether poll() is to be asked for room, too: something is left to send.
    bool wants_room() const;

    /// Since when a confirm is missing of what was sent at that time: see SendProgress.
    core::SteadyTime waits_since(core::SteadyTime sent, core::SteadyTime now);

  private:
    void on_confirm(Channel, relay::PublishSeq seq, bool multiple, bool acked) override {
        sink_->on_confirm(seq, multiple, acked);
    }
    void on_returned(const Returned& returned) override { sink_->on_returned(returned.exchange, returned.routing_key); }
    void on_blocked(std::string_view reason) override { blocked_ = reason.empty() ? "an alarm" : reason; }
    void on_unblocked() override { blocked_.clear(); }
    void on_channel_closed(const ChannelClosed& closed) override { closed_ = closed.text; }

    std::unique_ptr<Connection> connection_;
    ConfirmSink* sink_ = nullptr;
    SendProgress send_progress_;
    std::string blocked_;
    std::string closed_;
};

}  // namespace retryd::amqp
