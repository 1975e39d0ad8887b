// Every event of a connection, written down as a line, in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "amqp/events.h"

namespace retryd::test {

class Recorder : public amqp::Events {
  public:
    std::vector<std::string> lines;
    std::function<void(const core::Delivery&)> with_delivery = [](const core::Delivery&) {};
    std::function<void(core::DeliveryTag)> with_unreadable = [](core::DeliveryTag) {};

    void on_delivery(const core::Delivery& delivery) override {
        lines.push_back("delivery " + std::to_string(delivery.tag) + (delivery.redelivered ? " again" : "") + " of " +
                        std::to_string(delivery.message.body.size()));
        with_delivery(delivery);
    }
    void on_unreadable_delivery(core::DeliveryTag tag) override {
        lines.push_back("unreadable " + std::to_string(tag));
        with_unreadable(tag);
    }
    void on_returned(const amqp::Returned& returned) override {
        lines.push_back("returned " + std::to_string(returned.code) + " from '" + std::string{returned.exchange} +
                        "' key '" + std::string{returned.routing_key} + "'");
    }
    void on_confirm(amqp::Channel, relay::PublishSeq seq, bool multiple, bool acked) override {
        lines.push_back((acked ? "ack " : "nack ") + std::to_string(seq) + (multiple ? " and before" : ""));
    }
    void on_consumer_cancelled() override { lines.emplace_back("consumer cancelled"); }
    void on_consume_ok() override { lines.emplace_back("consume-ok"); }
    void on_cancel_ok() override { lines.emplace_back("cancel-ok"); }
    void on_blocked(std::string_view reason) override { lines.push_back("blocked: " + std::string{reason}); }
    void on_unblocked() override { lines.emplace_back("unblocked"); }
    void on_channel_open(amqp::Channel channel) override { lines.push_back("open " + std::to_string(channel)); }
    void on_declared(amqp::Channel channel, const amqp::QueueCounts& counts) override {
        std::string line = "declared " + std::to_string(channel);
        if (counts.messages > 0) line += " messages " + std::to_string(counts.messages);
        if (counts.consumers > 0) line += " consumers " + std::to_string(counts.consumers);
        lines.push_back(line);
    }
    void on_channel_closed(const amqp::ChannelClosed& closed) override {
        lines.push_back("closed " + std::to_string(closed.channel) + ": " + std::to_string(closed.code) + ' ' +
                        closed.text);
    }
};

}  // namespace retryd::test
