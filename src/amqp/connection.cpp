#include "amqp/connection.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "amqp/background.h"
#include "amqp/connect.h"
#include "amqp/server.h"
#include "amqp/tls/socket.h"
#include "config/addresses.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

/// So much is gathered before it is sent; small against the socket's buffer.
constexpr std::size_t most_gathered = std::size_t{64} * 1024;
/// A body beyond this is sent from where it lies: one more call into the kernel costs less than a copy.
constexpr std::size_t largest_copy = std::size_t{16} * 1024;

constexpr amqp_boolean_t mandatory = 1;
constexpr amqp_boolean_t immediate = 0;

using Entries = std::vector<amqp_table_entry_t>;

amqp_table_entry_t entry_of(const std::pair<std::string, core::Argument>& argument) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(argument.first);
    if (const auto* number = std::get_if<std::int64_t>(&argument.second)) {
        entry.value.kind = AMQP_FIELD_KIND_I64;
        entry.value.value.i64 = *number;
    } else if (const auto* flag = std::get_if<bool>(&argument.second)) {
        entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
        entry.value.value.boolean = *flag ? 1 : 0;
    } else {
        entry.value.kind = AMQP_FIELD_KIND_UTF8;
        entry.value.value.bytes = bytes_of(std::get<std::string>(argument.second));
    }
    return entry;
}

Entries entries_of(const core::Arguments& arguments) {
    Entries entries;
    for (const auto& argument : arguments)
        entries.push_back(entry_of(argument));
    return entries;
}

/// A view of the entries.
amqp_table_t table_of(Entries& entries) {
    return {static_cast<int>(entries.size()), entries.data()};
}

}  // namespace

std::unique_ptr<Connection> Connection::open(const config::Endpoint& endpoint, const config::Broker& settings,
                                             const std::string& name) {
    provide_decode_stack();
    RawConnection raw = connect(endpoint, settings, name);
    ssl_st* const stream = endpoint.tls ? tls_stream(amqp_get_socket(raw.get())) : nullptr;
    return std::make_unique<Connection>(std::move(raw), config::host_and_port(endpoint.host, endpoint.port),
                                        endpoint.tls ? Socket::secured : Socket::plain, stream);
}

Connection::Connection(RawConnection connection, std::string peer, Socket socket, ssl_st* stream)
    : socket_(std::move(connection), std::move(peer), socket, stream),
      dispatcher_(socket_),
      version_(version_of(server_of(socket_.state())).value_or(core::BrokerVersion{})) {}

Channel Connection::last_channel() const {
    const int agreed = amqp_get_channel_max(socket_.state());
    return agreed > 0 ? static_cast<Channel>(agreed) : std::numeric_limits<Channel>::max();  // 0: no limit
}

// ── Receiving ───────────────────────────────────────────────────────────────────────────────────────────────────

bool Connection::drain(Events& events, std::size_t limit) {
    if (gathered()) flush();
    return dispatcher_.drain(events, limit);
}

void Connection::qos(Channel channel, std::uint16_t prefetch) {
    socket_.send(channel, AMQP_BASIC_QOS_METHOD, amqp_basic_qos_t{0, prefetch, 0});
}

void Connection::consume(Channel channel, const std::string& queue, const std::string& consumer_tag) {
    amqp_basic_consume_t method{};
    method.queue = bytes_of(queue);
    method.consumer_tag = bytes_of(consumer_tag);
    socket_.send(channel, AMQP_BASIC_CONSUME_METHOD, method);
}

void Connection::consume_first(Channel channel, const std::string& queue, const std::string& consumer_tag,
                               std::int64_t priority) {
    const core::Arguments arguments{{"x-priority", priority}};
    Entries entries = entries_of(arguments);
    amqp_basic_consume_t method{};
    method.queue = bytes_of(queue);
    method.consumer_tag = bytes_of(consumer_tag);
    method.arguments = table_of(entries);
    socket_.send(channel, AMQP_BASIC_CONSUME_METHOD, method);
}

void Connection::consume_without_acks(Channel channel, const std::string& queue, const std::string& consumer_tag) {
    amqp_basic_consume_t method{};
    method.queue = bytes_of(queue);
    method.consumer_tag = bytes_of(consumer_tag);
    method.no_ack = 1;
    socket_.send(channel, AMQP_BASIC_CONSUME_METHOD, method);
}

void Connection::cancel(Channel channel, const std::string& consumer_tag) {
    socket_.send(channel, AMQP_BASIC_CANCEL_METHOD, amqp_basic_cancel_t{bytes_of(consumer_tag), 0});
}

void Connection::ack(Channel channel, core::DeliveryTag tag, bool multiple) {
    socket_.send(channel, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t{tag, multiple ? 1 : 0});
}

void Connection::nack_requeue(Channel channel, core::DeliveryTag tag) {
    socket_.send(channel, AMQP_BASIC_NACK_METHOD, amqp_basic_nack_t{tag, 0, 1});
}

/// With `multiple`, the tag 0 means all (collect_acks in rabbit_channel.erl, 3.10 to 4.3).
void Connection::give_back_all(Channel channel) {
    socket_.send(channel, AMQP_BASIC_NACK_METHOD, amqp_basic_nack_t{0, 1, 1});
}

void Connection::reject(Channel channel, core::DeliveryTag tag) {
    socket_.send(channel, AMQP_BASIC_REJECT_METHOD, amqp_basic_reject_t{tag, 0});
}

// ── Publishing ──────────────────────────────────────────────────────────────────────────────────────────────────

void Connection::confirm_select(Channel channel) {
    socket_.send(channel, AMQP_CONFIRM_SELECT_METHOD, amqp_confirm_select_t{});
}

relay::PublishResult Connection::publish(Channel channel, const core::Publication& publication) {
    FrameBuffer& frames = socket_.unsent();
    if ((stalled() || frames.size() >= most_gathered) && !flush()) return relay::PublishResult::would_block;
    socket_.serve_heartbeats();
    socket_.require_signs_of_life();
    arena_.reset();
    const amqp_basic_properties_t properties = write_properties(publication.message.properties, arena_);
    const std::size_t before = frames.size();
    amqp_basic_publish_t method{0, bytes_of(publication.exchange), bytes_of(publication.routing_key), mandatory,
                                immediate};
    socket_.require(frames.add_method(channel, AMQP_BASIC_PUBLISH_METHOD, &method));
    const std::string_view body = publication.message.body;
    if (!frames.add_header(channel, properties, body.size())) {
        frames.cut(before);
        return relay::PublishResult::header_too_large;
    }
    gather_body(channel, body);
    return relay::PublishResult::sent;
}

void Connection::gather_body(Channel channel, std::string_view body) {
    FrameBuffer& frames = socket_.unsent();
    const bool small = body.size() <= largest_copy;
    for (; !body.empty(); body.remove_prefix(std::min(body.size(), frames.largest_fragment()))) {
        const std::string_view fragment = body.substr(0, frames.largest_fragment());
        if (small || stalled()) {
            frames.add_body(channel, fragment);
            continue;
        }
        frames.open_body(channel, fragment.size());
        if (!socket_.flush_with(fragment, FrameBuffer::frame_end)) frames.reserve_body(body.size());
    }
}

// ── Channels, exchanges, queues ─────────────────────────────────────────────────────────────────────────────────

void Connection::open_channel(Channel channel) {
    socket_.send(channel, AMQP_CHANNEL_OPEN_METHOD, amqp_channel_open_t{});
}

void Connection::close_channel(Channel channel) {
    socket_.send(channel, AMQP_CHANNEL_CLOSE_METHOD, amqp_channel_close_t{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0});
}

void Connection::declare_exchange(Channel channel, const core::ExchangeSpec& exchange) {
    Entries entries = entries_of(exchange.arguments);
    amqp_exchange_declare_t method{};
    method.exchange = bytes_of(exchange.name);
    method.type = bytes_of(exchange.type);
    method.durable = 1;
    method.arguments = table_of(entries);
    socket_.send(channel, AMQP_EXCHANGE_DECLARE_METHOD, method);
}

void Connection::declare_queue(Channel channel, const core::QueueSpec& queue) {
    send_declare(channel, queue, false);
}

void Connection::declare_exclusive_queue(Channel channel, const core::QueueSpec& queue) {
    send_declare(channel, queue, true);
}

/// Durable, or exclusive to this connection.
void Connection::send_declare(Channel channel, const core::QueueSpec& queue, bool exclusive) {
    Entries entries = entries_of(queue.arguments);
    amqp_queue_declare_t method{};
    method.queue = bytes_of(queue.name);
    method.durable = exclusive ? 0 : 1;
    method.exclusive = exclusive ? 1 : 0;
    method.arguments = table_of(entries);
    socket_.send(channel, AMQP_QUEUE_DECLARE_METHOD, method);
}

void Connection::bind(Channel channel, const core::BindingSpec& binding) {
    Entries entries = entries_of(binding.arguments);
    amqp_queue_bind_t method{};
    method.queue = bytes_of(binding.queue);
    method.exchange = bytes_of(binding.exchange);
    method.routing_key = bytes_of(binding.routing_key);
    method.arguments = table_of(entries);
    socket_.send(channel, AMQP_QUEUE_BIND_METHOD, method);
}

void Connection::check_exchange(Channel channel, const std::string& exchange) {
    amqp_exchange_declare_t method{};
    method.exchange = bytes_of(exchange);
    method.type = bytes_of("direct");  // not looked at, but must be a type that exists
    method.passive = 1;
    socket_.send(channel, AMQP_EXCHANGE_DECLARE_METHOD, method);
}

void Connection::check_queue(Channel channel, const std::string& queue) {
    amqp_queue_declare_t method{};
    method.queue = bytes_of(queue);
    method.passive = 1;
    socket_.send(channel, AMQP_QUEUE_DECLARE_METHOD, method);
}

void Connection::delete_exchange(Channel channel, const std::string& exchange) {
    amqp_exchange_delete_t method{};
    method.exchange = bytes_of(exchange);
    method.if_unused = 1;
    socket_.send(channel, AMQP_EXCHANGE_DELETE_METHOD, method);
}

void Connection::delete_queue(Channel channel, const std::string& queue, bool only_if_idle) {
    amqp_queue_delete_t method{};
    method.queue = bytes_of(queue);
    method.if_unused = only_if_idle ? 1 : 0;
    method.if_empty = only_if_idle ? 1 : 0;
    socket_.send(channel, AMQP_QUEUE_DELETE_METHOD, method);
}

void Connection::close(core::Milliseconds patience) noexcept {
    amqp_connection_state_t state = socket_.state();
    if (!socket_.send_last(AMQP_CONNECTION_CLOSE_METHOD,
                           amqp_connection_close_t{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0})) {
        return;
    }
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
