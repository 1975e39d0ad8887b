// Text as RabbitMQ takes it: UTF-8 that is valid, how much of it fits, and JSON for the definition of a policy.
//
// UTF-8 is written out here because core uses no library. It is 50 lines; with utfcpp most of them would stay, since
// the broker is stricter than UTF-8 (no NUL).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace retryd::core {

/// The most bytes that an AMQP short string has: a name, a routing key, the text of a refusal.
inline constexpr std::size_t longest_short_string = 255;

/// The length of the longest beginning that is UTF-8 and holds no NUL; text.size() if all of it is.
std::size_t valid_utf8_length(std::string_view text);

/// How many characters (code points) the text has.
std::size_t characters(std::string_view text);

/// At most `longest` bytes off the front, cut between two characters.
std::string_view utf8_prefix(std::string_view text, std::size_t longest);

/// What may be a queue's name at all: 1 to 255 bytes of UTF-8 (the broker ends the connection over anything else: 501,
/// tried on 3.10.8, 4.0.5 and 4.3.6), no CR or LF (it strips those from a declare, and a publish to the unstripped name
/// would never arrive).
bool usable_queue_name(std::string_view name);

/// What may be a routing key: up to 255 bytes of UTF-8.
bool usable_routing_key(std::string_view key);

/// What a policy of the broker's sets: JSON texts by key.
using Definition = std::map<std::string, std::string>;

/// As a JSON string, quotes included; bytes beyond ASCII stay as they are.
std::string json_string(std::string_view text);

/// `{"max-length": 1000, "overflow": "reject-publish"}`
std::string json_object(const Definition& definition);

}  // namespace retryd::core
