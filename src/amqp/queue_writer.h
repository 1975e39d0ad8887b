// Publishes on a connection of its own: a broker under an alarm stops reading from it, and acks must not wait for that.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "amqp/events.h"
#include "config/settings.h"
#include "relay/broker.h"

namespace retryd::amqp {

class Connection;

class ConfirmSink {
  public:
    virtual ~ConfirmSink() = default;
    virtual void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) = 0;
    virtual void on_returned(std::string_view exchange, std::string_view routing_key) = 0;
};

/// Every call throws Error when the connection is lost.
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

  private:
    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override {
        sink_->on_confirm(seq, multiple, acked);
    }
    void on_returned(const Returned& returned) override { sink_->on_returned(returned.exchange, returned.routing_key); }
    void on_blocked(std::string_view reason) override { blocked_ = reason.empty() ? "an alarm" : reason; }
    void on_unblocked() override { blocked_.clear(); }
    void on_channel_closed(const ChannelClosed& closed) override { closed_ = closed.text; }

    std::unique_ptr<Connection> connection_;
    ConfirmSink* sink_ = nullptr;
    std::string blocked_;
    std::string closed_;
};

}  // namespace retryd::amqp
