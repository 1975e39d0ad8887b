// A message: properties, header table and body.
//
// As views where it can be published at once, which is the rule; as a copy where it has to wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string_view>

#include "core/value.h"

namespace retryd::core {

/// The properties of AMQP 0-9-1's basic class. What is absent stays absent; absent and empty differ on the wire.
struct Properties {
    std::optional<std::string_view> content_type;
    std::optional<std::string_view> content_encoding;
    std::optional<Table> headers;
    std::optional<std::uint8_t> delivery_mode;
    std::optional<std::uint8_t> priority;
    std::optional<std::string_view> correlation_id;
    std::optional<std::string_view> reply_to;
    std::optional<std::string_view> expiration;  // decimal milliseconds as text
    std::optional<std::string_view> message_id;
    std::optional<std::uint64_t> timestamp;  // seconds since 1970
    std::optional<std::string_view> type;
    std::optional<std::string_view> user_id;
    std::optional<std::string_view> app_id;
    std::optional<std::string_view> cluster_id;

    Table header_table() const { return headers.value_or(Table{}); }
};

/// A property that is text, by the name that AMQP 0-9-1 gives it.
struct TextProperty {
    const char* name;
    std::optional<std::string_view> Properties::*value;
};
inline constexpr std::array<TextProperty, 10> text_properties{{
    {"content-type", &Properties::content_type},
    {"content-encoding", &Properties::content_encoding},
    {"correlation-id", &Properties::correlation_id},
    {"reply-to", &Properties::reply_to},
    {"expiration", &Properties::expiration},
    {"message-id", &Properties::message_id},
    {"type", &Properties::type},
    {"user-id", &Properties::user_id},
    {"app-id", &Properties::app_id},
    {"cluster-id", &Properties::cluster_id},
}};

struct Message {
    Properties properties;
    std::string_view body;
};

/// Numbered by the broker from 1 on each channel; means nothing on another channel.
using DeliveryTag = std::uint64_t;

/// What the broker handed over from the error queue.
struct Delivery {
    DeliveryTag tag = 0;
    bool redelivered = false;
    Message message;
    std::optional<std::string_view> routing_key = {};  // that it came to the error queue with
};

/// A delivery that owns all it refers to, for what has to wait before it can be published: a deep copy in one arena.
/// Moving it keeps the views valid.
class OwnedDelivery {
  public:
    explicit OwnedDelivery(const Delivery& source);

    const Delivery& get() const { return delivery_; }
    /// What the copy takes, headers included: many small ones may take more than a body.
    std::size_t bytes() const { return bytes_; }

  private:
    std::unique_ptr<std::pmr::monotonic_buffer_resource> arena_;
    Delivery delivery_;
    std::size_t bytes_ = 0;
};

}  // namespace retryd::core
