#include "amqp/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "amqp/codec.h"

namespace retryd::test {
namespace {

/// What a fresh rabbitmq-c connection must see before any frame.
constexpr std::string_view protocol_header{"AMQP\0\0\x09\x01", 8};

void require(int status) {
    if (status != AMQP_STATUS_OK) throw std::runtime_error(amqp_error_string2(status));
}

amqp::RawConnection connection_on(int fd) {
    amqp::RawConnection connection(amqp_new_connection());
    amqp_tcp_socket_set_sockfd(amqp_tcp_socket_new(connection.get()), fd);
    return connection;
}

void pass_protocol_header(amqp_connection_state_t state) {
    amqp_frame_t frame{};
    const timeval now{};
    require(amqp_simple_wait_frame_noblock(state, &frame, &now));
}

}  // namespace

Peer::Peer() {
    int ends[2] = {};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::runtime_error("socketpair");
    }
    ours_ = connection_on(ends[0]);
    theirs_ = connection_on(ends[1]);
    send_raw(protocol_header);
    pass_protocol_header(ours_.get());
    if (::write(ends[0], protocol_header.data(), protocol_header.size()) < 0) throw std::runtime_error("write");
    pass_protocol_header(theirs_.get());
}

std::size_t Peer::frame_max() const {
    return static_cast<std::size_t>(amqp_get_frame_max(theirs_.get()));
}

void Peer::send_method(amqp::Channel channel, amqp_method_number_t id, void* method) {
    require(amqp_send_method(theirs_.get(), channel, id, method));
}

void Peer::send_frame(const amqp_frame_t& frame) {
    require(amqp_send_frame(theirs_.get(), &frame));
}

void Peer::send_header(amqp::Channel channel, amqp_basic_properties_t properties, std::uint64_t body_size) {
    amqp_frame_t frame{};
    frame.frame_type = AMQP_FRAME_HEADER;
    frame.channel = channel;
    frame.payload.properties.class_id = AMQP_BASIC_CLASS;
    frame.payload.properties.body_size = body_size;
    frame.payload.properties.decoded = &properties;
    send_frame(frame);
}

void Peer::send_body(amqp::Channel channel, std::string_view fragment) {
    amqp_frame_t frame{};
    frame.frame_type = AMQP_FRAME_BODY;
    frame.channel = channel;
    frame.payload.body_fragment = amqp::bytes_of(fragment);
    send_frame(frame);
}

void Peer::send_raw(std::string_view bytes) {
    if (::send(amqp_get_sockfd(theirs_.get()), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(bytes.size())) {
        throw std::runtime_error("send");
    }
}

void Peer::begin_delivery(amqp::Channel channel, std::uint64_t tag, bool redelivered) {
    amqp_basic_deliver_t deliver{};
    deliver.delivery_tag = tag;
    deliver.redelivered = redelivered ? 1 : 0;
    send(channel, AMQP_BASIC_DELIVER_METHOD, deliver);
}

void Peer::deliver(amqp::Channel channel, std::uint64_t tag, std::string_view body,
                   const core::Properties& properties) {
    begin_delivery(channel, tag);
    amqp::Arena arena;
    send_header(channel, amqp::write_properties(properties, arena), body.size());
    const std::size_t payload = frame_max() - 8;
    for (; !body.empty(); body.remove_prefix(std::min(payload, body.size())))
        send_body(channel, body.substr(0, payload));
}

void Peer::end() {
    shutdown(amqp_get_sockfd(theirs_.get()), SHUT_WR);
}

std::optional<Peer::Received> Peer::received() {
    amqp_maybe_release_buffers(theirs_.get());
    amqp_frame_t frame{};
    const timeval now{};
    if (amqp_simple_wait_frame_noblock(theirs_.get(), &frame, &now) != AMQP_STATUS_OK) return std::nullopt;
    if (frame.frame_type != AMQP_FRAME_METHOD) throw std::runtime_error("not a method");
    return Received{frame.channel, frame.payload.method.id, frame.payload.method.decoded};
}

std::string Peer::received_raw() {
    std::string bytes(4096, '\0');
    const auto count = ::recv(amqp_get_sockfd(theirs_.get()), bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
}

}  // namespace retryd::test
