// One AMQP connection over rabbitmq-c: opened, drained frame by frame, written to. Single-threaded.
//
// None of rabbitmq-c's blocking helpers is used once the connection is open (0.11 to 0.13 can block for ever in
// them): frames are taken with a zero timeout and become calls on Events; methods are sent and their answers arrive as
// frames.
//
// Publications are gathered and sent together: a call into the kernel for each would be most of what a message costs.
//
// A send waits while the socket is full, at most twice the heartbeat (60 s without heartbeats): then the connection
// counts as lost. Another thread can end the wait sooner with shutdown() on fd().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "amqp/topology_commands.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/compose.h"
#include "core/message.h"
#include "core/time.h"
#include "core/topology.h"
#include "relay/broker.h"

namespace retryd::amqp {

/// A publication that no queue took. Views live until the handler returns.
struct Returned {
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
    /// A delivery whose headers nest deeper than we follow, or cannot be decoded at all: it can be settled but not
    /// read. To be settled before returning: in the second case the connection ends right after.
    virtual void on_unreadable_delivery(core::DeliveryTag) {}
    virtual void on_returned(const Returned&) {}
    virtual void on_confirm(relay::PublishSeq, bool /*multiple*/, bool /*acked*/) {}
    virtual void on_consumer_cancelled() {}  // by the broker: queue deleted, consumer timeout (4.3), node gone
    virtual void on_consume_ok() {}
    virtual void on_cancel_ok() {}
    virtual void on_blocked(std::string_view /*reason*/) {}
    virtual void on_unblocked() {}
    virtual void on_channel_open(Channel) {}
    virtual void on_channel_left(Channel) {}                  // closed because we asked for it
    virtual void on_declared(Channel, const QueueCounts&) {}  // every -ok of TopologyCommands, in order of asking
    virtual void on_channel_closed(const ChannelClosed&) {}
};

/// One connection. Every call may throw Error when the connection is lost; afterwards only destruction is allowed.
class Connection : public TopologyCommands {
  public:
    /// Resolves, connects, TLS-verifies and logs in within the connect timeout. Announces consumer_cancel_notify,
    /// connection.blocked, basic.nack and publisher_confirms, and `name` as its connection_name.
    static std::unique_ptr<Connection> open(const config::Endpoint& endpoint, const config::Broker& settings,
                                            const std::string& name);

    /// The broker's version from connection.start; 0.0.0 where it does not say.
    virtual core::BrokerVersion version() const = 0;
    /// For poll(): readable means that drain() has something to do.
    virtual int fd() const = 0;

    /// Handles at most `limit` whole messages and any other frames among them, without waiting, and serves heartbeats
    /// both ways; with a limit of 0 it reads nothing and only keeps our own heartbeats coming. To be called at least
    /// twice a heartbeat. True if it stopped at the limit: there may be more, do not poll before the next call.
    virtual bool drain(Events& events, std::size_t limit) = 0;

    /// For a connection that only consumes, before its first call: a broker sends the headers of a message in one frame
    /// however large dead-lettering has made them, and one that is not taken in ends the connection.
    virtual void receive_large_headers() = 0;

    /// Sends what publish() has gathered, where the socket has room. False: it has none, and nothing was sent.
    virtual bool flush() = 0;
    /// Whether there is something to flush.
    virtual bool gathered() = 0;

    virtual void confirm_select(Channel channel) = 0;  // no event; sequence numbers start at 1
    virtual void qos(Channel channel, std::uint16_t prefetch) = 0;
    virtual void consume(Channel channel, const std::string& queue, const std::string& consumer_tag) = 0;
    /// Every message counts as acked once it was sent.
    virtual void consume_without_acks(Channel channel, const std::string& queue, const std::string& consumer_tag) = 0;
    virtual void cancel(Channel channel, const std::string& consumer_tag) = 0;  // → on_cancel_ok
    virtual void close_channel(Channel channel) = 0;                            // → on_channel_left
    /// Of this connection alone, and gone with it. → on_declared
    virtual void declare_exclusive_queue(Channel channel, const core::QueueSpec& queue) = 0;
    virtual void ack(Channel channel, core::DeliveryTag tag, bool multiple) = 0;
    virtual void nack_requeue(Channel channel, core::DeliveryTag tag) = 0;
    virtual void reject(Channel channel, core::DeliveryTag tag) = 0;  // without requeue: dead-letters

    /// Mandatory. May be gathered with others: it is sent by flush(), at the latest before the next method or by the
    /// next drain(). Nothing is sent or gathered when the properties do not fit a frame.
    virtual relay::PublishResult publish(Channel channel, const core::Publication& publication) = 0;

    /// connection.close, then at most so long for the answer. Never throws.
    virtual void close(core::Milliseconds patience) noexcept = 0;
};

}  // namespace retryd::amqp
