// Properties and tables as they are encoded on the wire: the one comparison that treats a NaN as equal to itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "amqp/codec.h"
#include "core/message.h"

namespace retryd::fuzz {

std::string encoded(const core::Table& table);
std::string encoded(const core::Properties& properties);
/// What rabbitmq-c has decoded, encoded by rabbitmq-c: only the properties that our functions know.
std::string encoded_by_library(amqp_basic_properties_t decoded);

/// A message's properties, sent in a frame and decoded by rabbitmq-c on the other side.
class WireRoundTrip {
  public:
    WireRoundTrip();
    ~WireRoundTrip();
    WireRoundTrip(const WireRoundTrip&) = delete;
    WireRoundTrip& operator=(const WireRoundTrip&) = delete;

    /// Nothing where they do not fit a frame. Views live until the next call.
    std::optional<core::Properties> send(const core::Properties& properties);

  private:
    std::string room_;
    amqp_pool_t pool_;
    amqp::Arena written_;
    amqp::Arena read_;
};

}  // namespace retryd::fuzz
