// A message as one line of JSON, without loss: what `retryd parked export` writes and `retryd parked import` reads.
//
//   {"queue": "email.parked", "properties": {…}, "headers": [{"name": "tenant", "type": "longstr", "value": "acme"}],
//    "body": "…"}
//
// A text that is not UTF-8 is in `KEY_base64` instead of `KEY`. Every AMQP 0-9-1 type keeps its name and all its bits.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"

namespace retryd::commands {

/// Without the line end. `queue`: where it is parked.
std::string line_of_message(const std::string& queue, const core::Message& message);
/// The same without what the broker added on this delivery (x-delivery-count, x-acquired-count).
std::string exported_line(const std::string& queue, core::Message message);

/// The parts of such a line.
nlohmann::ordered_json json_of_properties(const core::Properties& properties);
nlohmann::ordered_json exact_json_of(const core::Table& headers);
/// Whether a text is so full of control characters that it is written as base64.
bool mostly_controls(std::string_view body);

/// How deep headers may nest; those of a delivery are not read any deeper.
inline constexpr int deepest_headers = 100;

/// Owns what it has read.
class MessageLine {
  public:
    MessageLine() = default;
    MessageLine(const MessageLine&) = delete;
    MessageLine& operator=(const MessageLine&) = delete;

    /// Why the line is not a message; empty if it is one.
    std::string read(std::string_view line);
    std::string read_json(const nlohmann::ordered_json& object);

    const std::string& queue() const { return queue_; }
    const core::Message& message() const { return message_; }

  private:
    class Reader;

    std::string queue_;
    core::Message message_;
    std::deque<std::string> texts_;
    std::deque<std::vector<core::Field>> tables_;
    std::deque<std::vector<core::Value>> arrays_;
};

}  // namespace retryd::commands
