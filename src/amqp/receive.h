// Receiving: the one place where frames become events.
//
// A message comes as a method, one header and as many bodies as it takes, and is put together from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec.h"
#include "amqp/events.h"
#include "amqp/frame_socket.h"
#include "amqp/rabbitmq.h"
#include "core/message.h"

namespace retryd::amqp {

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

}  // namespace retryd::amqp
