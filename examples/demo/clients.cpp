#include "clients.h"

#include <stdexcept>
#include <utility>

#include "setting.h"

namespace retryd::demo {
namespace {

constexpr std::size_t deliveries_a_turn = 16;

/// Whether it belongs to the play. One of a run that was broken off is to be acked; any other stays where it is.
bool is_ours(const core::Message& message, const std::string& queue) {
    const Origin origin = origin_of(message);
    if (origin == Origin::elsewhere) {
        throw std::runtime_error("queue '" + queue +
                                 "' holds a message that is not the demo's; the demo ends here and the message stays "
                                 "there. It is made for a RabbitMQ of its own: run ./demo, which starts one");
    }
    return origin == Origin::this_run;
}

[[noreturn]] void not_routed(const amqp::Returned& returned) {
    throw std::runtime_error("no queue takes a message for '" + std::string{returned.routing_key} + "'");
}

}  // namespace

Client::Client(const config::Endpoint& broker, const std::string& name)
    : connection_(amqp::Connection::open(broker, config::Broker{}, name)) {
    connection_->open_channel(channel);
}

Client::~Client() {
    connection_->close(core::Milliseconds{1000});
}

void Client::turn() {
    while (connection_->drain(*this, deliveries_a_turn)) {
    }
}

void Client::on_channel_closed(const amqp::ChannelClosed& closed) {
    throw std::runtime_error("the broker refused: " + closed.text);
}

void Client::on_consumer_cancelled() {
    throw std::runtime_error("the broker cancelled a consumer: its queue was deleted");
}

void Client::publish(const std::string& exchange, std::string_view routing_key, const core::Message& message) {
    if (connection_->publish(channel, {exchange, routing_key, message}) != relay::PublishResult::sent) {
        throw std::runtime_error("a message could not be published");
    }
}

Producer::Producer(const config::Endpoint& broker, Chronicle& chronicle)
    : Client(broker, "demo producer"), chronicle_(chronicle) {
    connection().confirm_select(channel);
}

void Producer::send(const Mail& mail) {
    const MailMessage message(mail);
    chronicle_.sent(mail);
    publish(mail_exchange, mail.routing_key, message.get());
}

void Producer::on_confirm(relay::PublishSeq seq, bool multiple, bool acked) {
    if (!acked) throw std::runtime_error("the broker did not take a mail");
    confirmed_ = multiple ? seq : confirmed_ + 1;
}

void Producer::on_returned(const amqp::Returned& returned) {
    not_routed(returned);
}

Consumer::Consumer(const config::Endpoint& broker, Chronicle& chronicle)
    : Client(broker, "demo consumer"), chronicle_(chronicle) {
    connection().qos(channel, deliveries_a_turn);
    connection().consume(channel, work_queue, "consumer");
}

void Consumer::on_delivery(const core::Delivery& delivery) {
    if (!is_ours(delivery.message, work_queue)) return connection().ack(channel, delivery.tag, false);
    const Mail& mail = mail_of(delivery.message);
    chronicle_.came(mail, delivery.message);
    if (fails(mail)) {
        chronicle_.rejected(mail);
        connection().reject(channel, delivery.tag);
    } else {
        chronicle_.done(mail);
        connection().ack(channel, delivery.tag, false);
    }
}

bool Consumer::fails(const Mail& mail) {
    if (mail.failures == until_mended) return !mended_;
    return ++tries_[&mail] <= mail.failures;
}

Watcher::Watcher(const config::Endpoint& broker, Chronicle& chronicle)
    : Client(broker, "demo watcher"), chronicle_(chronicle) {
    connection().consume(channel, parking_queue, "watcher");
}

void Watcher::on_delivery(const core::Delivery& delivery) {
    if (!is_ours(delivery.message, parking_queue)) return connection().ack(channel, delivery.tag, false);
    chronicle_.parked(mail_of(delivery.message), delivery.message);
}

}  // namespace retryd::demo
