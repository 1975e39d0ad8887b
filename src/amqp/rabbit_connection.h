// Connection over a Wire: every command is one method frame, except publish.
#pragma once

#include <string>

#include "amqp/connection.h"
#include "amqp/dispatcher.h"
#include "amqp/publisher.h"
#include "amqp/wire.h"

namespace retryd::amqp {

class RabbitConnection : public Connection {
  public:
    RabbitConnection(State state, std::string peer, Socket socket = Socket::secured);

    core::BrokerVersion version() const override { return version_; }
    int fd() const override { return wire_.fd(); }
    bool drain(Events& events, std::size_t limit) override;
    void receive_large_headers() override { wire_.receive_large_frames(); }
    bool flush() override { return publisher_.flush(); }
    bool gathered() override { return !wire_.unsent().empty(); }

    void open_channel(Channel channel) override;
    void confirm_select(Channel channel) override;
    void qos(Channel channel, std::uint16_t prefetch) override;
    void consume(Channel channel, const std::string& queue, const std::string& consumer_tag) override;
    void consume_without_acks(Channel channel, const std::string& queue, const std::string& consumer_tag) override;
    void cancel(Channel channel, const std::string& consumer_tag) override;
    void close_channel(Channel channel) override;
    void declare_exclusive_queue(Channel channel, const core::QueueSpec& queue) override;
    void ack(Channel channel, core::DeliveryTag tag, bool multiple) override;
    void nack_requeue(Channel channel, core::DeliveryTag tag) override;
    void reject(Channel channel, core::DeliveryTag tag) override;

    void declare_exchange(Channel channel, const core::ExchangeSpec& exchange) override;
    void declare_queue(Channel channel, const core::QueueSpec& queue) override;
    void bind(Channel channel, const core::BindingSpec& binding) override;
    void check_exchange(Channel channel, const std::string& exchange) override;
    void check_queue(Channel channel, const std::string& queue) override;
    void delete_exchange(Channel channel, const std::string& exchange) override;
    void delete_queue(Channel channel, const std::string& queue, bool only_if_idle) override;

    relay::PublishResult publish(Channel channel, const core::Publication& publication) override {
        return publisher_.publish(channel, publication);
    }
    void close(core::Milliseconds patience) noexcept override;

  private:
    Wire wire_;
    Dispatcher dispatcher_;
    Publisher publisher_;
    core::BrokerVersion version_;
};

}  // namespace retryd::amqp
