// The two connections of a command that looks into a queue or empties it: QueueReader and QueueWriter.
//
// QueueReader reads from the head without taking anything out: every message stays unacked until it is settled, and
// what is not goes back to where it lay when the reader leaves.
//
// A consumer holds 65,535 messages and no more. When it is full it is cancelled, which takes nothing from what
// it holds, and another one goes on where it has ended: go_on().
//
// A quorum queue hands out all that a consumer may hold in one step, in which it does nothing else and answers nothing;
// with 65,535 messages that took 20 seconds and more on a busy machine. So a consumer holds a few thousand.
//
// Who only looks has all consumers on one channel. Who acks has a channel for each:
// to ack one message RabbitMQ walks through all that are unacked on the channel before it, and copies them
// (collect_acks in rabbit_channel.erl, read in 4.3). With 131,070 and more in front, 1,000 acks took the channel longer
// than two minutes on a busy machine (4.3.6), in which it answered nothing; those that wait for their turn are
// forgotten when the channel ends, and their messages come again.
//
// That it goes back in its order takes care. A quorum queue gives back what one consumer holds in the order in which it
// was delivered, and one consumer of a channel after the other in the order of their tags, all in one step when their
// channel ends, whether in order or with the process (return_all and handle_down in rabbit_fifo.erl, 3.10 to 4.3; up to
// 4.2 the order of the tags holds for 32 consumers). Of several channels each is closed once the queue has what the one
// before it held; with the process they end in any order. But all of it goes behind whatever was given back before:
// what lies in front of a queue that somebody has looked at, and is marked as redelivered. So a reader does not leave
// before it has met a message that is not, or has all of them; then nothing is left to get in front. And what is still
// on its way to a consumer that is cancelled goes back at once, in front of the rest (handle_delivery in
// rabbit_fifo_client.erl). So a consumer is cancelled when it is full, or when all that was there has come, and what
// the acks have made room for, too; channel.close comes after the answer to the last basic.cancel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
    enum class Use {
        look,   // nothing is acked
        settle  // some is
    };
    /// What has to go on while the reader waits for an answer: the connections that are not served otherwise.
    using Meanwhile = std::function<void()>;

    /// Connects. `settings` must outlive it. `window`: what one consumer holds at most, and no more than most_unacked.
    QueueReader(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name,
                std::size_t window, Use use);
    ~QueueReader() override;
    QueueReader(const QueueReader&) = delete;
    QueueReader& operator=(const QueueReader&) = delete;

    /// The most that a consumer can hold unacked: 16 bits.
    static constexpr std::size_t most_unacked = 65'535;

    /// Before begin(), for who is likely to need only what lies in front: each message that a consumer holds is given
    /// back, and marked, and has to be held by the next reader, too. So the first consumer holds few, and each one
    /// after it twice as many. `given_back`: so many in front are marked already, as far as is known; then it holds
    /// these, and the next one no more than one message beyond them.
    void keep_few_unacked(std::size_t given_back);
    /// Once only. `ready`: how many messages lie there, as the broker counts them. Returns how many the first consumer
    /// may hold.
    std::size_t begin(const std::string& queue, std::size_t ready);

    /// Takes in at most `limit` messages, without waiting; with 0 it reads nothing and keeps the connection alive.
    /// True if there may be more already.
    bool turn(DeliverySink& sink, std::size_t limit);

    /// Of the consumer that is there now: with each one the tags begin again at 1.
    void ack(core::DeliveryTag tag, bool multiple);

    std::size_t delivered() const { return delivered_; }
    /// Whether the consumer holds all that it may, where nothing was acked.
    bool full() const { return delivered_to_consumer_ >= window_; }
    /// Not before RabbitMQ 3.10.
    bool can_go_on() const;
    /// For when the consumer holds all that it may, and all of that stays: another one goes on. Waits for the broker's
    /// answer. Returns how many that one may hold: all, or where no more messages are wanted but the reader may not
    /// leave yet, one alone at first, because that may be enough.
    std::size_t go_on(bool only_to_leave, const Meanwhile& meanwhile);

    /// The broker took the consumer away and gave what it held back to the queue: because it held a message for too
    /// long (consumer_timeout), or because the queue or its node is gone. Or it ended the connection, because it cannot
    /// hand over what comes next (relay/head_trial.h). The reason; empty as long as it reads.
    const std::string& ended() const { return ended_; }
    /// Whether it was that message (amqp/undeliverable.h).
    bool met_undeliverable() const { return lost_; }

    /// Whether all has come that is to come before it may leave: what was there for the consumer, what the acks have
    /// made room for, and all that was given back to the queue before.
    bool may_leave() const;
    /// It may not, although all that was on its way has come: for their order what lies behind has to be held, too.
    bool needs_more_to_leave() const;

    /// Gives back what is not acked. Waits until the broker has done with the acks, too.
    void leave(const Meanwhile& meanwhile);

    int fd() const;

  private:
    void consume(std::size_t window);
    std::size_t window_for(std::size_t ready) const;
    std::size_t next_window();
    bool past_given_back() const;
    void cancel(const Meanwhile& meanwhile);
    void give_back(const Meanwhile& meanwhile);
    std::size_t count_ready(const Meanwhile& meanwhile);
    void await_return(std::size_t ready, const Meanwhile& meanwhile);
    Channel asking_channel() const;
    bool all_here() const;
    bool silent() const;
    bool drain(std::size_t limit);
    void count_delivery();
    template <typename Condition>
    void await(Condition condition, const Meanwhile& meanwhile);
    void wait_for_frames(core::Milliseconds longest);

    void on_delivery_on(Channel channel, const core::Delivery& delivery) override;
    void on_unreadable_delivery_on(Channel channel, core::DeliveryTag tag) override;
    void on_declared(Channel channel, const QueueCounts& counts) override;
    void on_consume_ok() override { consuming_ = true; }
    void on_cancel_ok() override { cancelled_ = true; }
    void on_channel_left(Channel) override { left_ = true; }
    void on_consumer_cancelled() override;
    void on_channel_closed(const ChannelClosed& closed) override;

    std::unique_ptr<Connection> connection_;
    core::BrokerFeatures features_;
    Use use_;
    std::size_t full_window_;
    DeliverySink* sink_ = nullptr;
    std::string queue_;
    Channel channel_ = 0;  // of the consumer that is there now; those before it have their own, or the same
    std::string consumer_tag_;
    std::size_t window_ = 0;  // of the one that is there now
    std::size_t consumers_ = 0;
    std::vector<std::size_t> held_;          // by those before it, on the channels from 1 on
    std::size_t ready_ = 0;                  // at the beginning
    std::size_t delivered_ = 0;              // of these
    std::size_t expected_by_consumer_ = 0;   // by the one that is there now
    std::size_t delivered_to_consumer_ = 0;  // of these
    bool met_untouched_ = false;             // a message that was never given back: no more of those come
    bool tried_one_ = false;
    std::size_t few_ = 0;         // the next consumer of who needs few holds so many; 0: as many as it may
    std::size_t given_back_ = 0;  // before, by who needs few
    std::chrono::steady_clock::time_point last_delivery_{};
    std::chrono::steady_clock::time_point last_ack_{};
    std::string ended_;
    bool begun_ = false;
    bool consuming_ = false;
    bool cancelled_ = false;
    bool left_ = false;
    std::size_t counted_ = 0;  // ready messages, by the last answer
    bool answered_ = false;
    bool asks_ = true;   // how many are ready, between one channel and the next
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
