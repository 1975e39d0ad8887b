#include "amqp/rabbit_connection.h"

#include <chrono>
#include <utility>

#include "amqp/arena.h"
#include "amqp/error.h"
#include "amqp/tables.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

core::BrokerVersion version_of(amqp_connection_state_t state) {
    Arena arena;
    const auto properties = read_table(*amqp_get_server_properties(state), arena);
    if (!properties) return {};
    const auto text = core::text_of(core::find(*properties, "version"));
    return core::parse_version(text.value_or("")).value_or(core::BrokerVersion{});
}

}  // namespace

RabbitConnection::RabbitConnection(State state, std::string peer, Socket socket)
    : wire_(std::move(state), std::move(peer), socket),
      dispatcher_(wire_),
      publisher_(wire_),
      version_(version_of(wire_.state())) {}

bool RabbitConnection::drain(Events& events, std::size_t limit) {
    if (gathered()) flush();
    return dispatcher_.drain(events, limit);
}

void RabbitConnection::open_channel(Channel channel) {
    wire_.send(channel, AMQP_CHANNEL_OPEN_METHOD, amqp_channel_open_t{});
}

void RabbitConnection::confirm_select(Channel channel) {
    wire_.send(channel, AMQP_CONFIRM_SELECT_METHOD, amqp_confirm_select_t{});
}

void RabbitConnection::qos(Channel channel, std::uint16_t prefetch) {
    wire_.send(channel, AMQP_BASIC_QOS_METHOD, amqp_basic_qos_t{0, prefetch, 0});
}

void RabbitConnection::consume(Channel channel, const std::string& queue, const std::string& consumer_tag) {
    amqp_basic_consume_t method{};
    method.queue = bytes_of(queue);
    method.consumer_tag = bytes_of(consumer_tag);
    wire_.send(channel, AMQP_BASIC_CONSUME_METHOD, method);
}

void RabbitConnection::consume_without_acks(Channel channel, const std::string& queue,
                                            const std::string& consumer_tag) {
    amqp_basic_consume_t method{};
    method.queue = bytes_of(queue);
    method.consumer_tag = bytes_of(consumer_tag);
    method.no_ack = 1;
    wire_.send(channel, AMQP_BASIC_CONSUME_METHOD, method);
}

void RabbitConnection::close_channel(Channel channel) {
    wire_.send(channel, AMQP_CHANNEL_CLOSE_METHOD, amqp_channel_close_t{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0});
}

void RabbitConnection::cancel(Channel channel, const std::string& consumer_tag) {
    wire_.send(channel, AMQP_BASIC_CANCEL_METHOD, amqp_basic_cancel_t{bytes_of(consumer_tag), 0});
}

void RabbitConnection::ack(Channel channel, core::DeliveryTag tag, bool multiple) {
    wire_.send(channel, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t{tag, multiple ? 1 : 0});
}

void RabbitConnection::nack_requeue(Channel channel, core::DeliveryTag tag) {
    wire_.send(channel, AMQP_BASIC_NACK_METHOD, amqp_basic_nack_t{tag, 0, 1});
}

void RabbitConnection::reject(Channel channel, core::DeliveryTag tag) {
    wire_.send(channel, AMQP_BASIC_REJECT_METHOD, amqp_basic_reject_t{tag, 0});
}

void RabbitConnection::close(core::Milliseconds patience) noexcept {
    amqp_connection_state_t state = wire_.state();
    amqp_connection_close_t close{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0};
    if (fd() < 0 || !wire_.writable()) return;
    if (amqp_send_method(state, 0, AMQP_CONNECTION_CLOSE_METHOD, &close) != AMQP_STATUS_OK) return;
    const auto deadline = Clock::now() + patience;
    for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
        const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - now);
        const timeval timeout{left.count() / 1'000'000, left.count() % 1'000'000};
        amqp_frame_t frame{};
        if (amqp_simple_wait_frame_noblock(state, &frame, &timeout) != AMQP_STATUS_OK) return;
        if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_CONNECTION_CLOSE_OK_METHOD) return;
        amqp_maybe_release_buffers(state);
    }
}

}  // namespace retryd::amqp
