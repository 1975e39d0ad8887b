// A connection with one channel, over rabbitmq-c: frames come in without waiting, a message stays where it was read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/rabbitmq.h"

namespace retryd::bench::ceiling {

constexpr amqp_channel_t channel = 1;

/// Views, valid until the handler returns.
struct Delivery {
    std::string_view properties;  // encoded, as the broker sent them
    std::string_view body;
};

class Connection {
  public:
    /// Throws std::runtime_error, as everything here does once the connection is broken.
    explicit Connection(const std::string& uri);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    amqp_connection_state_t state() const { return state_; }
    int fd() const { return amqp_get_sockfd(state_); }
    void confirm_select();
    void consume(const std::string& queue, std::uint16_t prefetch);

    /// The handlers are called for at most `limit` deliveries and for any confirms; true if it stopped at the limit. To
    /// be called when poll() has seen something, or after true.
    template <typename OnDelivery, typename OnConfirm>
    bool drain(std::size_t limit, OnDelivery on_delivery, OnConfirm on_confirm);

  private:
    bool receive(amqp_frame_t& frame);
    /// Trying in vain would cost two calls into the kernel; the rest of a message is as good as there.
    bool may_hold_more() const {
        return in_message_ || amqp_data_in_buffer(state_) != 0 || amqp_frames_enqueued(state_) != 0;
    }
    /// True when a message is whole.
    bool add(const amqp_frame_t& frame);
    void gather(const amqp_bytes_t& fragment);
    [[noreturn]] void refuse(const amqp_method_t& method) const;

    amqp_connection_state_t state_ = nullptr;
    bool in_message_ = false;
    Delivery delivery_;
    std::uint64_t missing_ = 0;   // of the body
    std::vector<char> gathered_;  // of a body in several frames
};

void check(int status, const char* what);

template <typename OnDelivery, typename OnConfirm>
bool Connection::drain(std::size_t limit, OnDelivery on_delivery, OnConfirm on_confirm) {
    std::size_t taken = 0;
    do {
        amqp_frame_t frame;
        if (!receive(frame)) return false;
        if (frame.frame_type == AMQP_FRAME_METHOD) {
            const amqp_method_t& method = frame.payload.method;
            in_message_ = method.id == AMQP_BASIC_DELIVER_METHOD;
            if (method.id == AMQP_BASIC_ACK_METHOD) {
                const auto& ack = *static_cast<const amqp_basic_ack_t*>(method.decoded);
                on_confirm(ack.delivery_tag, ack.multiple != 0);
            } else if (!in_message_) {
                refuse(method);
            }
        } else if (!add(frame)) {
            continue;
        } else {
            in_message_ = false;
            on_delivery(delivery_);
            ++taken;
        }
        amqp_maybe_release_buffers_on_channel(state_, channel);
    } while (taken < limit && may_hold_more());
    return taken == limit;
}

}  // namespace retryd::bench::ceiling
