#include "amqp/receive.h"

#include <algorithm>
#include <string>

#include "amqp/error.h"

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
    socket_.hang_up();
    throw Error(
        passed_over ? Error::Kind::passed_over : Error::Kind::protocol,
        "the broker at " + socket_.peer() +
            " sent a frame that cannot be decoded: headers nested too deeply, or larger than 64 MiB" +
            (passed_over ? ". Their message was handed to the broker's own dead-lettering without reading it" : "") +
            "; the connection cannot go on and is opened anew");
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

}  // namespace retryd::amqp
