// What a connection hears from the broker: each frame that means something becomes one call.
#pragma once

#include <string_view>

#include "amqp/topology_commands.h"
#include "core/message.h"
#include "relay/broker.h"

namespace retryd::amqp {

/// A publication that no queue took. Views live until the handler returns.
struct Returned {
    Channel channel = 0;
    int code = 0;  // 312 NO_ROUTE
    std::string_view exchange;
    std::string_view routing_key;
};

/// Events of a connection, in the order of the wire. Handlers may send; they must not drain. Views live until the
/// handler returns.
class Events {
  public:
    virtual ~Events() = default;
    virtual void on_delivery(const core::Delivery&) {}
    /// For those who consume on several channels of one connection.
    virtual void on_delivery_on(Channel, const core::Delivery& delivery) { on_delivery(delivery); }
    virtual void on_unreadable_delivery_on(Channel, core::DeliveryTag tag) { on_unreadable_delivery(tag); }
    virtual void on_consumer_cancelled_on(Channel) { on_consumer_cancelled(); }
    virtual void on_consume_ok_on(Channel) { on_consume_ok(); }
    virtual void on_cancel_ok_on(Channel) { on_cancel_ok(); }
    /// A delivery whose headers nest deeper than deepest_level, or cannot be decoded at all: it can be settled but not
    /// read. To be settled before returning: in the second case the connection ends right after.
    virtual void on_unreadable_delivery(core::DeliveryTag) {}
    virtual void on_returned(const Returned&) {}
    virtual void on_confirm(Channel, relay::PublishSeq, bool /*multiple*/, bool /*acked*/) {}
    virtual void on_consumer_cancelled() {}  // by the broker: queue deleted, consumer timeout (4.3), node gone
    virtual void on_qos_ok(Channel) {}
    virtual void on_consume_ok() {}
    virtual void on_cancel_ok() {}
    virtual void on_blocked(std::string_view /*reason*/) {}
    virtual void on_unblocked() {}
    virtual void on_channel_open(Channel) {}
    virtual void on_channel_left(Channel) {}                  // closed because we asked for it
    virtual void on_declared(Channel, const QueueCounts&) {}  // every -ok of TopologyCommands, in order of asking
    virtual void on_channel_closed(const ChannelClosed&) {}
};

}  // namespace retryd::amqp
