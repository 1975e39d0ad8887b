// What it takes to declare, look at and delete exchanges, queues and bindings on a channel: the seam between Declarer
// and Connection.
#pragma once

#include <cstdint>
#include <string>

#include "core/topology.h"

namespace retryd::amqp {

/// Numbered by us, from 1; 0 is the connection itself.
using Channel = std::uint16_t;

/// Of a connection that needs but one.
inline constexpr Channel only_channel = 1;

/// Why the broker closed a channel. It has been answered with close-ok already.
struct ChannelClosed {
    Channel channel = 0;
    int code = 0;
    std::string text;
    /// class_id << 16 | method_id of the method that caused it
    std::uint32_t method = 0;
};

/// What a queue.declare-ok tells; zeros in every other answer.
struct QueueCounts {
    std::uint32_t messages = 0;  // ready ones only: neither unacked nor kept for a dead-lettering under way
    std::uint32_t consumers = 0;
    bool operator==(const QueueCounts&) const = default;
};

/// None waits for the broker: it answers each in the order of asking with on_declared, or closes the channel. While a
/// queue's process hangs, it answers nothing on that channel, channel.close neither.
class TopologyCommands {
  public:
    virtual ~TopologyCommands() = default;

    virtual void open_channel(Channel channel) = 0;   // → on_channel_open
    virtual void close_channel(Channel channel) = 0;  // → on_channel_left
    virtual void declare_exchange(Channel channel, const core::ExchangeSpec& exchange) = 0;
    virtual void declare_queue(Channel channel, const core::QueueSpec& queue) = 0;
    virtual void bind(Channel channel, const core::BindingSpec& binding) = 0;

    virtual void check_exchange(Channel channel, const std::string& exchange) = 0;  // passive
    virtual void check_queue(Channel channel, const std::string& queue) = 0;        // passive

    virtual void delete_exchange(Channel channel, const std::string& exchange) = 0;  // if nothing is bound to it
    /// `only_if_idle`: refused where it has messages or consumers. Not for quorum queues: there the broker ends the
    /// connection over it.
    virtual void delete_queue(Channel channel, const std::string& queue, bool only_if_idle) = 0;
};

}  // namespace retryd::amqp
