// Publications of one connection, on their way into the socket.
//
// On a plain socket they are gathered as frames and sent together. On one with TLS rabbitmq-c sends each at once: only
// it can write there.
#pragma once

#include <cstddef>
#include <vector>

#include "amqp/arena.h"
#include "amqp/frame_socket.h"
#include "core/compose.h"
#include "relay/broker.h"

namespace retryd::amqp {

class Publisher {
  public:
    explicit Publisher(FrameSocket& wire);

    /// As Connection::publish.
    relay::PublishResult publish(Channel channel, const core::Publication& publication);
    /// As Connection::flush.
    bool flush();

  private:
    bool gather(Channel channel, const core::Publication& publication, const amqp_basic_properties_t& properties);
    void gather_body(Channel channel, std::string_view body);
    bool send(Channel channel, const core::Publication& publication, const amqp_basic_properties_t& properties);

    FrameSocket& socket_;
    Arena arena_;                    // a publication's tables
    std::vector<char> header_room_;  // as much as a header frame has for its properties
    std::size_t unlooked_ = 0;       // bytes since the socket was last asked for room
};

}  // namespace retryd::amqp
