// Putting a message together from its frames: a method, one header, as many bodies as it takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "amqp/rabbitmq.h"
#include "core/message.h"

namespace retryd::amqp {

/// What is under way on one channel. A body in one frame stays where rabbitmq-c put it. One in several frames is
/// gathered here, and the header with it, so that the frames can be released one by one.
class Content {
  public:
    enum class Kind { none, delivery, returned };

    Content();
    ~Content();
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;

    void begin_delivery(core::DeliveryTag tag, bool redelivered);
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

}  // namespace retryd::amqp
