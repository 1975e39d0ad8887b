// What it takes to declare exchanges, queues and bindings on a channel: the seam between Declarer and Connection.
#pragma once

#include <cstdint>
#include <string>

#include "core/topology.h"

namespace retryd::amqp {

/// Numbered by us, from 1; 0 is the connection itself.
using Channel = std::uint16_t;

/// Why the broker closed a channel. It has been answered with close-ok already.
struct ChannelClosed {
    Channel channel = 0;
    int code = 0;
    std::string text;
    /// class_id << 16 | method_id of the method that caused it
    std::uint32_t method = 0;
};

/// None waits for the broker: it answers each in the order of asking, or closes the channel.
class TopologyCommands {
  public:
    virtual ~TopologyCommands() = default;

    virtual void open_channel(Channel channel) = 0;                                 // → on_channel_open
    virtual void declare_fanout(Channel channel, const std::string& exchange) = 0;  // durable → on_declared
    virtual void declare_queue(Channel channel, const core::QueueSpec& queue) = 0;  // → on_declared
    virtual void check_queue(Channel channel, const std::string& queue) = 0;        // passive → on_declared
    virtual void bind(Channel channel, const std::string& queue, const std::string& exchange) = 0;  // → on_declared
};

}  // namespace retryd::amqp
