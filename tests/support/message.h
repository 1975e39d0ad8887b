// A message as tests write and read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/value.h"

namespace retryd::test {

/// The properties of AMQP 0-9-1's basic class but the headers; what is absent is not on the wire.
struct Properties {
    std::optional<std::string> content_type = std::nullopt;
    std::optional<std::string> content_encoding = std::nullopt;
    std::optional<std::uint8_t> delivery_mode = std::nullopt;
    std::optional<std::uint8_t> priority = std::nullopt;
    std::optional<std::string> correlation_id = std::nullopt;
    std::optional<std::string> reply_to = std::nullopt;
    std::optional<std::string> expiration = std::nullopt;
    std::optional<std::string> message_id = std::nullopt;
    std::optional<std::uint64_t> timestamp = std::nullopt;
    std::optional<std::string> type = std::nullopt;
    std::optional<std::string> user_id = std::nullopt;
    std::optional<std::string> app_id = std::nullopt;
    std::optional<std::string> cluster_id = std::nullopt;
    bool operator==(const Properties&) const = default;
};

struct Message {
    std::string body = {};
    Table headers = {};
    Properties properties = {};
};

/// A message as it arrived. `tag` settles it at the client that received it.
struct Received : Message {
    std::uint64_t tag = 0;
    bool redelivered = false;
    std::string exchange;
    std::string routing_key;
};

/// A header's value, or one that no test expects ("(absent)", "(a …)", -1), so that a failed comparison is readable.
std::string text_header(const Message& message, std::string_view name);
std::int64_t long_header(const Message& message, std::string_view name);

}  // namespace retryd::test
