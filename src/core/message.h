// A message as views: properties, header table and body.
#pragma once

#include <cstdint>
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
};

}  // namespace retryd::core
