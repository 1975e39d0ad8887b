#include "amqp/rabbit_connection.h"

#include <chrono>
#include <utility>

#include "amqp/error.h"
#include "amqp/tables.h"

namespace retryd::amqp {
namespace {

constexpr std::size_t frame_overhead = 8;    // type, channel, size; end
constexpr std::size_t header_overhead = 12;  // class, weight, body size

core::BrokerVersion version_of(amqp_connection_state_t state) {
    Arena arena;
    const auto properties = read_table(*amqp_get_server_properties(state), arena);
    if (!properties) return {};
    const auto text = core::text_of(core::find(*properties, "version"));
    return core::parse_version(text.value_or("")).value_or(core::BrokerVersion{});
}

}  // namespace

RabbitConnection::RabbitConnection(State state, std::string peer)
    : wire_(std::move(state), std::move(peer)), dispatcher_(wire_), version_(version_of(wire_.state())) {
    header_room_.resize(wire_.frame_max() - frame_overhead - header_overhead);
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

relay::PublishResult RabbitConnection::publish(Channel channel, const core::Publication& publication) {
    const std::string_view body = publication.message.body;
    arena_.reset();
    const amqp_basic_properties_t properties = write_properties(publication.message.properties, arena_);
    if (!fits(properties, header_room_)) return relay::PublishResult::header_too_large;

    wire_.require_signs_of_life();
    constexpr amqp_boolean_t mandatory = 1;
    constexpr amqp_boolean_t immediate = 0;
    wire_.require(amqp_basic_publish(wire_.state(), channel, bytes_of(publication.exchange),
                                     bytes_of(publication.routing_key), mandatory, immediate, &properties,
                                     bytes_of(body)));
    // rabbitmq-c marks a body frame that is exactly full with MSG_MORE even when it is the last one, and the kernel
    // then holds the end of it back for 200 ms, waiting for more. A heartbeat is more.
    if (!body.empty() && body.size() % (wire_.frame_max() - frame_overhead) == 0) wire_.send_heartbeat();
    return relay::PublishResult::sent;
}

void RabbitConnection::close(core::Milliseconds patience) noexcept {
    using Clock = std::chrono::steady_clock;
    amqp_connection_state_t state = wire_.state();
    amqp_connection_close_t close{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0};
    if (fd() < 0 || !writable()) return;
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
