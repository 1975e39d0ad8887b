#include "amqp/connection.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "amqp/background.h"
#include "amqp/connect.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "amqp/tls_socket.h"
#include "config/addresses.h"

namespace retryd::amqp {

namespace {

constexpr std::size_t kept_capacity = std::size_t{1} << 20;
constexpr std::uint64_t largest_body = std::uint64_t{512} << 20;  // RabbitMQ's own upper bound
constexpr std::size_t pool_page = std::size_t{16} * 1024;

[[noreturn]] void unexpected(const char* what) {
    throw Error(Error::Kind::protocol, std::string{"the broker sent "} + what);
}

template <typename Method>
const Method& as(const amqp_method_t& method) {
    return *static_cast<const Method*>(method.decoded);
}

void on_publisher_method(Channel channel, const amqp_method_t& method, Events& events) {
    switch (method.id) {
        case AMQP_BASIC_ACK_METHOD: {
            const auto& ack = as<amqp_basic_ack_t>(method);
            return events.on_confirm(channel, ack.delivery_tag, ack.multiple != 0, true);
        }
        case AMQP_BASIC_NACK_METHOD: {
            const auto& nack = as<amqp_basic_nack_t>(method);
            return events.on_confirm(channel, nack.delivery_tag, nack.multiple != 0, false);
        }
        default: {
            const auto& returned = as<amqp_basic_return_t>(method);
            return events.on_returned(
                {channel, returned.reply_code, view_of(returned.exchange), view_of(returned.routing_key)});
        }
    }
}

}  // namespace

// ── MessageAssembler ────────────────────────────────────────────────────────────────────────────────────────────

MessageAssembler::MessageAssembler() {
    init_amqp_pool(&pool_, pool_page);
}

MessageAssembler::~MessageAssembler() {
    empty_amqp_pool(&pool_);
}

void MessageAssembler::begin_delivery(core::DeliveryTag tag, bool redelivered, std::string_view routing_key) {
    if (kind_ != Kind::none) unexpected("a delivery before the end of the previous message");
    kind_ = Kind::delivery;
    tag_ = tag;
    redelivered_ = redelivered;
    routing_key_ = routing_key;
}

void MessageAssembler::begin_returned() {
    if (kind_ != Kind::none) unexpected("a returned message before the end of the previous message");
    kind_ = Kind::returned;
}

bool MessageAssembler::add_header(const amqp_frame_t& frame) {
    if (!awaits_header()) unexpected("a content header that belongs to no message");
    const auto& header = frame.payload.properties;
    if (header.class_id != AMQP_BASIC_CLASS) unexpected("a content header of an unknown class");
    if (header.body_size > largest_body) unexpected("a message larger than 512 MiB");
    has_header_ = true;
    body_size_ = header.body_size;
    if (kind_ == Kind::delivery) {
        properties_ = static_cast<const amqp_basic_properties_t*>(header.decoded);
        header_ = header.raw;
    }
    return body_size_ == 0;
}

bool MessageAssembler::add_body(const amqp_bytes_t& fragment) {
    if (!has_header_) unexpected("a body that belongs to no message");
    if (fragment.len > body_size_ - received_) unexpected("a body larger than its header says");
    received_ += fragment.len;
    const bool whole = received_ == body_size_;
    if (kind_ == Kind::delivery) {
        if (whole && gathered_.empty()) {
            only_fragment_ = fragment;
        } else {
            gather(fragment);
        }
    }
    return whole;
}

void MessageAssembler::gather(const amqp_bytes_t& fragment) {
    const std::string_view bytes = view_of(fragment);
    if (gathered_.empty()) {
        const std::string_view header = view_of(header_);
        gathered_header_.assign(header.begin(), header.end());
        gathered_.reserve(static_cast<std::size_t>(body_size_));
    }
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

const amqp_basic_properties_t* MessageAssembler::properties() {
    if (gathered_.empty()) return properties_;
    void* decoded = nullptr;
    const amqp_bytes_t encoded{gathered_header_.size(), gathered_header_.data()};
    if (amqp_decode_properties(AMQP_BASIC_CLASS, &pool_, encoded, &decoded) < 0) return nullptr;
    return static_cast<const amqp_basic_properties_t*>(decoded);
}

std::string_view MessageAssembler::body() const {
    if (gathered_.empty()) return view_of(only_fragment_);
    return {gathered_.data(), gathered_.size()};
}

void MessageAssembler::finish() {
    kind_ = Kind::none;
    has_header_ = false;
    received_ = 0;
    properties_ = nullptr;
    only_fragment_ = {};
    recycle_amqp_pool(&pool_);
    if (gathered_.capacity() > kept_capacity) {
        std::vector<char>().swap(gathered_);  // assigning {} would keep the memory
    } else {
        gathered_.clear();
    }
}

// ── Dispatcher ──────────────────────────────────────────────────────────────────────────────────────────────────

bool Dispatcher::drain(Events& events, std::size_t limit) {
    socket_.serve_heartbeats();
    std::size_t delivered = 0;
    while (delivered < limit) {
        amqp_frame_t frame{};
        switch (socket_.receive(frame)) {
            case FrameSocket::Received::nothing:
                return false;
            case FrameSocket::Received::unreadable:
                give_up_unreadable(events);
            case FrameSocket::Received::frame:
                if (handle(frame, events)) ++delivered;
        }
        if (!may_hold_more()) return false;
    }
    return true;
}

bool Dispatcher::receiving(Channel channel) const {
    const auto found = messages_.find(channel);
    return found != messages_.end() && found->second.kind() != MessageAssembler::Kind::none;
}

/// Trying in vain costs two calls into the kernel each turn. The rest of a message is as good as there.
bool Dispatcher::may_hold_more() const {
    return socket_.may_hold_more() || std::any_of(messages_.begin(), messages_.end(), [](const auto& message) {
               return message.second.kind() != MessageAssembler::Kind::none;
           });
}

bool Dispatcher::handle(const amqp_frame_t& frame, Events& events) {
    bool delivered = false;
    if (frame.frame_type == AMQP_FRAME_METHOD) {
        on_method(frame, events);
    } else if (frame.frame_type == AMQP_FRAME_HEADER || frame.frame_type == AMQP_FRAME_BODY) {
        MessageAssembler& message = messages_[frame.channel];
        const bool whole = frame.frame_type == AMQP_FRAME_HEADER ? message.add_header(frame)
                                                                 : message.add_body(frame.payload.body_fragment);
        delivered = whole && message.kind() == MessageAssembler::Kind::delivery;
        if (delivered) deliver(frame.channel, message, events);
        if (whole) message.finish();
        if (message.holds_frames()) return false;
    }
    socket_.release(frame.channel);
    return delivered;
}

void Dispatcher::deliver(Channel channel, MessageAssembler& message, Events& events) {
    arena_.reset();
    const auto* const decoded = message.properties();
    const auto properties = decoded == nullptr ? std::nullopt : read_properties(*decoded, arena_);
    if (properties) {
        events.on_delivery_on(
            channel, {message.tag(), message.redelivered(), {*properties, message.body()}, message.routing_key()});
    } else {
        events.on_unreadable_delivery_on(channel, message.tag());
    }
}

// rabbitmq-c cannot decode a header that nests deeper than its limit (0.14 and later) or is larger than a frame may be,
// and what dead-lettering adds to a header may make it so: the broker sends it all the same. From then on it reads
// nothing, but it still sends, so the message can be settled before the connection is given up. Else the broker would
// give the same message again on every connection to come.
void Dispatcher::give_up_unreadable(Events& events) {
    bool passed_over = false;
    for (const auto& [channel, message] : messages_) {
        if (message.kind() != MessageAssembler::Kind::delivery || !message.awaits_header()) continue;
        events.on_unreadable_delivery_on(channel, message.tag());
        passed_over = true;
    }
    if (passed_over) {
        socket_.flush();
        std::this_thread::sleep_for(ack_linger);
    }
    socket_.hang_up();
    throw Error(
        passed_over ? Error::Kind::set_aside_unread : Error::Kind::protocol,
        "the broker at " + socket_.peer() +
            " sent a frame that cannot be decoded: headers nested too deeply, or larger than 64 MiB" +
            (passed_over ? ". Their message was handed to the broker's own dead-lettering without reading it" : "") +
            "; the connection cannot go on and is opened again");
}

void Dispatcher::on_method(const amqp_frame_t& frame, Events& events) {
    if (frame.channel == 0) {
        on_connection_method(frame.payload.method, events);
    } else {
        on_channel_method(frame.channel, frame.payload.method, events);
    }
}

void Dispatcher::on_connection_method(const amqp_method_t& method, Events& events) {
    switch (method.id) {
        case AMQP_CONNECTION_CLOSE_METHOD:
            socket_.accept_close(as<amqp_connection_close_t>(method));
        case AMQP_CONNECTION_BLOCKED_METHOD:
            return events.on_blocked(view_of(as<amqp_connection_blocked_t>(method).reason));
        case AMQP_CONNECTION_UNBLOCKED_METHOD:
            return events.on_unblocked();
        default:
            return;
    }
}

void Dispatcher::on_channel_method(Channel channel, const amqp_method_t& method, Events& events) {
    switch (method.id) {
        case AMQP_BASIC_DELIVER_METHOD:
        case AMQP_BASIC_CONSUME_OK_METHOD:
        case AMQP_BASIC_CANCEL_METHOD:
        case AMQP_BASIC_CANCEL_OK_METHOD:
            return on_consumer_method(channel, method, events);
        case AMQP_BASIC_RETURN_METHOD:
        case AMQP_BASIC_ACK_METHOD:
        case AMQP_BASIC_NACK_METHOD:
            if (method.id == AMQP_BASIC_RETURN_METHOD) messages_[channel].begin_returned();
            return on_publisher_method(channel, method, events);
        case AMQP_CHANNEL_OPEN_OK_METHOD:
            return events.on_channel_open(channel);
        case AMQP_CHANNEL_CLOSE_OK_METHOD:
            messages_[channel].finish();
            return events.on_channel_left(channel);
        case AMQP_CHANNEL_CLOSE_METHOD:
            return close_channel(channel, as<amqp_channel_close_t>(method), events);
        case AMQP_QUEUE_DECLARE_OK_METHOD: {
            const auto& declared = as<amqp_queue_declare_ok_t>(method);
            return events.on_declared(channel, {declared.message_count, declared.consumer_count});
        }
        case AMQP_EXCHANGE_DECLARE_OK_METHOD:
        case AMQP_QUEUE_BIND_OK_METHOD:
        case AMQP_EXCHANGE_DELETE_OK_METHOD:
        case AMQP_QUEUE_DELETE_OK_METHOD:
            return events.on_declared(channel, {});
        case AMQP_BASIC_QOS_OK_METHOD:
            return events.on_qos_ok(channel);
        default:  // confirm.select-ok: had it failed, the channel would have been closed
            return;
    }
}

void Dispatcher::on_consumer_method(Channel channel, const amqp_method_t& method, Events& events) {
    switch (method.id) {
        case AMQP_BASIC_DELIVER_METHOD: {
            const auto& delivery = as<amqp_basic_deliver_t>(method);
            return messages_[channel].begin_delivery(delivery.delivery_tag, delivery.redelivered != 0,
                                                     view_of(delivery.routing_key));
        }
        case AMQP_BASIC_CONSUME_OK_METHOD:
            socket_.consume_answered();
            return events.on_consume_ok_on(channel);
        case AMQP_BASIC_CANCEL_METHOD:
            return cancel_consumer(channel, as<amqp_basic_cancel_t>(method), events);
        default:
            return events.on_cancel_ok_on(channel);
    }
}

void Dispatcher::close_channel(Channel channel, const amqp_channel_close_t& close, Events& events) {
    const ChannelClosed closed{channel, close.reply_code, std::string{view_of(close.reply_text)},
                               std::uint32_t{close.class_id} << 16 | close.method_id};
    messages_[channel].finish();
    socket_.send(channel, AMQP_CHANNEL_CLOSE_OK_METHOD, amqp_channel_close_ok_t{});
    events.on_channel_closed(closed);
}

void Dispatcher::cancel_consumer(Channel channel, const amqp_basic_cancel_t& cancel, Events& events) {
    if (cancel.nowait == 0) {
        socket_.send(channel, AMQP_BASIC_CANCEL_OK_METHOD, amqp_basic_cancel_ok_t{cancel.consumer_tag});
    }
    events.on_consumer_cancelled_on(channel);
}

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
    socket_.consume_sent();
}

void Connection::consume_at_priority(Channel channel, const std::string& queue, const std::string& consumer_tag,
                                     std::int64_t priority) {
    const core::Arguments arguments{{"x-priority", priority}};
    Entries entries = entries_of(arguments);
    amqp_basic_consume_t method{};
    method.queue = bytes_of(queue);
    method.consumer_tag = bytes_of(consumer_tag);
    method.arguments = table_of(entries);
    socket_.send(channel, AMQP_BASIC_CONSUME_METHOD, method);
    socket_.consume_sent();
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
