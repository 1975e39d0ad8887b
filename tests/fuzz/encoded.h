// A table as it stands on the wire: the one comparison that tells NaN from NaN.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "amqp/codec.h"
#include "core/message.h"

namespace retryd::fuzz {

std::string encoded(const core::Table& table);
std::string encoded(const core::Properties& properties);
/// What rabbitmq-c makes of what it has decoded, without a function of ours; as far as ours know the properties.
std::string encoded_by_library(amqp_basic_properties_t decoded);

/// A message's properties, sent in a frame and decoded by rabbitmq-c on the other side.
class FrameSocket {
  public:
    FrameSocket();
    ~FrameSocket();
    FrameSocket(const FrameSocket&) = delete;
    FrameSocket& operator=(const FrameSocket&) = delete;

    /// Nothing where they do not fit a frame. Views live until the next call.
    std::optional<core::Properties> carry(const core::Properties& properties);

  private:
    std::string room_;
    amqp_pool_t pool_;
    amqp::Arena written_;
    amqp::Arena read_;
};

}  // namespace retryd::fuzz
