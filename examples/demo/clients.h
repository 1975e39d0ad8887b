// Who talks to RabbitMQ in the play: the producer, the flaky consumer, and one who watches the parking queue. None of
// them needs anything of retryd: they would be written the same without it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "amqp/connection.h"
#include "chronicle.h"
#include "mails.h"

namespace retryd::demo {

/// A connection with one channel. Every call may throw std::runtime_error.
class Client : public amqp::Events {
  public:
    Client(const config::Endpoint& broker, const std::string& name);
    ~Client() override;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    int fd() const { return connection_->fd(); }
    /// Takes in what is there, without waiting.
    void turn();

    void on_channel_closed(const amqp::ChannelClosed& closed) override;
    void on_consumer_cancelled() override;

  protected:
    static constexpr amqp::Channel channel = 1;
    amqp::Connection& connection() { return *connection_; }
    void publish(const std::string& exchange, std::string_view routing_key, const core::Message& message);

  private:
    std::unique_ptr<amqp::Connection> connection_;
};

class Producer : public Client {
  public:
    Producer(const config::Endpoint& broker, Chronicle& chronicle);

    void send(const Mail& mail);
    /// How many the broker has confirmed.
    std::uint64_t confirmed() const { return confirmed_; }

    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override;
    void on_returned(const amqp::Returned& returned) override;

  private:
    Chronicle& chronicle_;
    std::uint64_t confirmed_ = 0;
};

/// Acks what works, rejects what does not: requeue=false, the way to the dead-letter exchange.
class Consumer : public Client {
  public:
    Consumer(const config::Endpoint& broker, Chronicle& chronicle);

    /// The bug is fixed.
    void mend() { mended_ = true; }

    void on_delivery(const core::Delivery& delivery) override;

  private:
    bool fails(const Mail& mail);

    Chronicle& chronicle_;
    std::map<const Mail*, int> tries_;
    bool mended_ = false;
};

/// Sees what is parked, as anyone could who looks at the parking queue. It takes nothing: what it was given goes back
/// when it is gone.
class Watcher : public Client {
  public:
    Watcher(const config::Endpoint& broker, Chronicle& chronicle);

    void on_delivery(const core::Delivery& delivery) override;

  private:
    Chronicle& chronicle_;
};

}  // namespace retryd::demo
