// One AMQP connection over rabbitmq-c: opened, drained frame by frame, written to. Single-threaded.
//
// None of rabbitmq-c's blocking helpers is used once the connection is open (0.11 to 0.13 can block for ever in
// them): frames are taken with a zero timeout and become calls on Events; methods are sent and their answers arrive as
// frames.
//
// Publications are gathered as frames and sent together: a call into the kernel for each would be most of what a
// message costs.
//
// No send waits. What the socket does not take, of a body larger than its buffer most of all, stays here and goes on
// with later calls of drain() and flush(), however long that takes: a broker under an alarm reads nothing as long as it
// lasts. Meanwhile publish() takes nothing more, and methods queue up behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec.h"
#include "amqp/events.h"
#include "amqp/frame_socket.h"
#include "amqp/rabbitmq.h"
#include "amqp/topology_commands.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/compose.h"
#include "core/message.h"
#include "core/reply_code.h"
#include "core/time.h"
#include "core/topology.h"
#include "relay/broker.h"

namespace retryd::amqp {

// ── Frames to events ────────────────────────────────────────────────────────────────────────────────────────────────
//
// A message comes as a method, one header and as many bodies as it takes, and is put together from them.

/// The message that is under way on one channel. A body in one frame stays where rabbitmq-c put it. One in several
/// frames is gathered here, and the header with it, so that the frames can be released one by one.
class MessageAssembler {
  public:
    enum class Kind { none, delivery, returned };

    MessageAssembler();
    ~MessageAssembler();
    MessageAssembler(const MessageAssembler&) = delete;
    MessageAssembler& operator=(const MessageAssembler&) = delete;

    void begin_delivery(core::DeliveryTag tag, bool redelivered, std::string_view routing_key);
    /// Only to be counted until it is over.
    void begin_returned();

    /// True when the message is whole. Throw Error for frames that do not belong here.
    bool add_header(const amqp_frame_t& frame);
    bool add_body(const amqp_bytes_t& fragment);

    Kind kind() const { return kind_; }
    bool awaits_header() const { return kind_ != Kind::none && !has_header_; }
    /// Whether views into frames that were passed in are held.
    bool holds_frames() const { return properties_ != nullptr && gathered_.empty(); }

    core::DeliveryTag tag() const { return tag_; }
    bool redelivered() const { return redelivered_; }
    std::string_view routing_key() const { return routing_key_; }
    /// Of a delivery that is whole; valid until finish(). Null should rabbitmq-c fail to decode what it decoded before.
    const amqp_basic_properties_t* properties();
    std::string_view body() const;

    /// Forgets the message. A large buffer is given back.
    void finish();

  private:
    void gather(const amqp_bytes_t& fragment);

    Kind kind_ = Kind::none;
    core::DeliveryTag tag_ = 0;
    bool redelivered_ = false;
    std::string routing_key_;  // a copy: the method's frame is released before the others come

    bool has_header_ = false;
    std::uint64_t body_size_ = 0;
    std::uint64_t received_ = 0;
    const amqp_basic_properties_t* properties_ = nullptr;  // in the header's frame
    amqp_bytes_t header_ = {};                             // the same, encoded
    amqp_bytes_t only_fragment_ = {};

    std::vector<char> gathered_header_;
    std::vector<char> gathered_;
    amqp_pool_t pool_;  // for the header decoded once more
};

/// Hands every frame that means something to Events.
class Dispatcher {
  public:
    /// `socket` must outlive it.
    explicit Dispatcher(FrameSocket& socket) : socket_(socket) {}

    /// As Connection::drain.
    bool drain(Events& events, std::size_t limit);
    /// As Connection::receiving.
    bool receiving(Channel channel) const;

  private:
    bool may_hold_more() const;
    /// True if a delivery was handed over.
    bool handle(const amqp_frame_t& frame, Events& events);
    void deliver(Channel channel, MessageAssembler& message, Events& events);
    [[noreturn]] void give_up_unreadable(Events& events);
    void on_method(const amqp_frame_t& frame, Events& events);
    void on_connection_method(const amqp_method_t& method, Events& events);
    void on_channel_method(Channel channel, const amqp_method_t& method, Events& events);
    void on_consumer_method(Channel channel, const amqp_method_t& method, Events& events);
    void close_channel(Channel channel, const amqp_channel_close_t& close, Events& events);
    void cancel_consumer(Channel channel, const amqp_basic_cancel_t& cancel, Events& events);

    FrameSocket& socket_;
    Arena arena_;
    std::map<Channel, MessageAssembler> messages_;
};

// ── The connection ──────────────────────────────────────────────────────────────────────────────────────────────────

/// Every call may throw Error when the connection is lost; afterwards only destruction is allowed.
class Connection : public TopologyCommands {
  public:
    /// Resolves, connects, TLS-verifies and logs in within the connect timeout. Announces consumer_cancel_notify,
    /// connection.blocked, basic.nack and publisher_confirms, and `name` as its connection_name.
    static std::unique_ptr<Connection> open(const config::Endpoint& endpoint, const config::Broker& settings,
                                            const std::string& name);

    /// Over a connection that is logged in; open() makes one.
    Connection(RawConnection connection, std::string peer, Socket socket = Socket::secured, ssl_st* stream = nullptr);

    /// The broker's version from connection.start; 0.0.0 only where open() has not made it.
    core::BrokerVersion version() const { return version_; }
    /// As the broker allows (channel_max); opening one beyond it ends the connection.
    Channel last_channel() const;
    /// For poll(): readable means that drain() has something to do.
    int fd() const { return socket_.fd(); }

    // ── Receiving ──

    /// Handles at most `limit` whole messages and any other frames among them, without waiting, and serves heartbeats
    /// both ways; with a limit of 0 it reads nothing and only keeps our own heartbeats coming. To be called at least
    /// twice a heartbeat. True if it stopped at the limit: there may be more, do not poll before the next call.
    bool drain(Events& events, std::size_t limit);

    /// For a connection that only consumes, before its first call: a broker sends the headers of a message in one frame
    /// however large dead-lettering has made them, and one that is not taken in ends the connection.
    void receive_large_headers() { socket_.receive_large_frames(); }

    void qos(Channel channel, std::uint16_t prefetch);  // → on_qos_ok
    void consume(Channel channel, const std::string& queue, const std::string& consumer_tag);
    /// With that priority: as long as it can take messages, the queue gives none to consumers with a lower one; others
    /// have 0.
    void consume_at_priority(Channel channel, const std::string& queue, const std::string& consumer_tag,
                             std::int64_t priority);
    /// Every message counts as acked once it was sent.
    void consume_without_acks(Channel channel, const std::string& queue, const std::string& consumer_tag);
    void cancel(Channel channel, const std::string& consumer_tag);  // → on_cancel_ok
    void ack(Channel channel, core::DeliveryTag tag, bool multiple);
    void nack_requeue(Channel channel, core::DeliveryTag tag);
    /// All that the broker has given that channel and that is not settled, whether it has come or not.
    void give_back_all(Channel channel);
    void reject(Channel channel, core::DeliveryTag tag);  // without requeue: dead-letters

    /// Whether some message has come on it in part.
    bool receiving(Channel channel) const { return dispatcher_.receiving(channel); }

    // ── Publishing ──

    void confirm_select(Channel channel);  // no event; sequence numbers start at 1

    /// Mandatory. May be gathered with others: it is sent by flush(), at the latest before the next method or by the
    /// next drain(). Nothing is sent or gathered when the properties do not fit a frame.
    relay::PublishResult publish(Channel channel, const core::Publication& publication);
    /// Sends what was gathered or is left, as far as the socket has room. True if nothing is left.
    bool flush() { return socket_.flush(); }
    /// Whether there is something to flush.
    bool gathered() const { return !socket_.unsent().empty(); }
    /// Whether the socket is full: what is left goes when poll() tells of room.
    bool stalled() const { return socket_.stalled(); }

    /// Bytes since the beginning: those to be sent, and those of them that the broker's host has.
    std::uint64_t queued() const { return socket_.queued(); }
    std::uint64_t taken() const { return socket_.taken(); }

    // ── Channels, exchanges, queues ──

    void open_channel(Channel channel) override;
    void close_channel(Channel channel) override;
    void declare_exchange(Channel channel, const core::ExchangeSpec& exchange) override;
    void declare_queue(Channel channel, const core::QueueSpec& queue) override;
    /// Of this connection alone, and gone with it. → on_declared
    void declare_exclusive_queue(Channel channel, const core::QueueSpec& queue);
    void bind(Channel channel, const core::BindingSpec& binding) override;
    void check_exchange(Channel channel, const std::string& exchange) override;
    void check_queue(Channel channel, const std::string& queue) override;
    void delete_exchange(Channel channel, const std::string& exchange) override;
    void delete_queue(Channel channel, const std::string& queue, bool only_if_idle) override;

    /// The code with which the broker closed it; 0 where it did not, or not yet.
    int closed_with() const { return socket_.closed_with(); }
    /// The broker ended it with an error of its own, and not because a queue has no leader: as a rule there is a
    /// message that it cannot hand over.
    bool ended_by_message() const { return closed_with() == core::reply_code::internal_error && !consume_unanswered(); }
    /// The broker ended it because a quorum queue did not answer a basic.consume, as one without a leader.
    bool consume_unanswered() const { return socket_.consume_unanswered(); }

    /// connection.close, then at most so long for the answer. Never throws.
    void close(core::Milliseconds patience) noexcept;

  private:
    void gather_body(Channel channel, std::string_view body);
    void send_declare(Channel channel, const core::QueueSpec& queue, bool exclusive);

    FrameSocket socket_;
    Dispatcher dispatcher_;
    core::BrokerVersion version_;
    Arena arena_;  // a publication's tables
};

}  // namespace retryd::amqp
