#include "ceiling/connection.h"

#include <stdexcept>

#include "support/client.h"
#include "support/tables.h"

namespace retryd::bench::ceiling {

using test::bytes_of;

namespace {

void require_normal(const amqp_rpc_reply_t& reply, const char* what) {
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error(std::string(what) + " was refused");
}

}  // namespace

void check(int status, const char* what) {
    if (status != AMQP_STATUS_OK) throw std::runtime_error(std::string(what) + ": " + amqp_error_string2(status));
}

Connection::Connection(const std::string& uri) : state_(amqp_new_connection()) {
    const test::Address address = test::parse_address(uri);
    check(amqp_socket_open(amqp_tcp_socket_new(state_), address.host.c_str(), address.port), "connect");
    constexpr int frame_max = 131072;
    constexpr int heartbeat = 0;
    require_normal(amqp_login(state_, address.vhost.c_str(), 0, frame_max, heartbeat, AMQP_SASL_METHOD_PLAIN,
                              address.user.c_str(), address.password.c_str()),
                   "the login");
    amqp_channel_open(state_, channel);
    require_normal(amqp_get_rpc_reply(state_), "the channel");
}

Connection::~Connection() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
}

void Connection::confirm_select() {
    amqp_confirm_select(state_, channel);
    require_normal(amqp_get_rpc_reply(state_), "confirm.select");
}

void Connection::consume(const std::string& queue, std::uint16_t prefetch) {
    amqp_basic_qos(state_, channel, 0, prefetch, 0);
    require_normal(amqp_get_rpc_reply(state_), "the prefetch");
    amqp_basic_consume(state_, channel, bytes_of(queue), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    require_normal(amqp_get_rpc_reply(state_), "consuming");
}

bool Connection::receive(amqp_frame_t& frame) {
    const timeval now{};
    const int status = amqp_simple_wait_frame_noblock(state_, &frame, &now);
    if (status == AMQP_STATUS_TIMEOUT) return false;
    check(status, "read");
    return true;
}

bool Connection::add(const amqp_frame_t& frame) {
    if (frame.frame_type == AMQP_FRAME_HEADER) {
        const auto& header = frame.payload.properties;
        delivery_ = {{static_cast<const char*>(header.raw.bytes), header.raw.len}, {}};
        missing_ = header.body_size;
        gathered_.clear();
        return missing_ == 0;
    }
    const amqp_bytes_t& fragment = frame.payload.body_fragment;
    missing_ -= fragment.len;
    if (missing_ == 0 && gathered_.empty()) {
        delivery_.body = {static_cast<const char*>(fragment.bytes), fragment.len};
    } else {
        gather(fragment);
    }
    return missing_ == 0;
}

void Connection::gather(const amqp_bytes_t& fragment) {
    const char* const first = static_cast<const char*>(fragment.bytes);
    gathered_.insert(gathered_.end(), first, first + fragment.len);
    delivery_.body = {gathered_.data(), gathered_.size()};
}

void Connection::refuse(const amqp_method_t& method) const {
    throw std::runtime_error("the broker sent " + std::string(amqp_method_name(method.id)) + ", which ends the relay");
}

}  // namespace retryd::bench::ceiling
