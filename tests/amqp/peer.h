// The other end of a Wire, without a broker: a socket pair, and rabbitmq-c's own encoder speaking as the broker.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/frame_socket.h"
#include "core/message.h"

namespace retryd::test {

class Peer {
  public:
    Peer();

    /// Our end; to be taken once.
    amqp::RawConnection take_connection() { return std::move(ours_); }
    std::size_t frame_max() const;

    template <typename Method>
    void send(amqp::Channel channel, amqp_method_number_t id, Method method) {
        send_method(channel, id, &method);
    }
    void send_header(amqp::Channel channel, amqp_basic_properties_t properties, std::uint64_t body_size);
    void send_body(amqp::Channel channel, std::string_view fragment);
    void send_raw(std::string_view bytes);

    /// basic.deliver, header, and as many body frames as it takes.
    void deliver(amqp::Channel channel, std::uint64_t tag, std::string_view body,
                 const core::Properties& properties = {});
    void begin_delivery(amqp::Channel channel, std::uint64_t tag, bool redelivered = false);

    /// No more will be sent: the reader gets to the end.
    void end();
    /// Closes without a word.
    void vanish() { theirs_.reset(); }

    /// The next method that arrived, nothing if none has. Valid until the call after.
    struct Received {
        amqp::Channel channel;
        amqp_method_number_t id;
        const void* decoded;
        template <typename Method>
        const Method& as() const {
            return *static_cast<const Method*>(decoded);
        }
    };
    std::optional<Received> received();
    /// All that has arrived and was not taken with received(), as it stands on the wire.
    std::string received_raw();

  private:
    void send_method(amqp::Channel channel, amqp_method_number_t id, void* method);
    void send_frame(const amqp_frame_t& frame);

    amqp::RawConnection ours_;
    amqp::RawConnection theirs_;
};

}  // namespace retryd::test
