// A message as one line of JSON, exact: what `retryd parked export` writes and `retryd parked import` reads.
//
//   {"queue": "email.parked", "properties": {…}, "headers": [{"name": "tenant", "type": "longstr", "value": "acme"}],
//    "body": "…"}
//
// A text that is no UTF-8 is in `KEY_base64` instead of `KEY`. Every type of AMQP 0-9-1 keeps its own name and all its
// bits.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"

namespace retryd::commands {

/// Without the line's end. `queue`: where it is parked.
std::string line_of_message(const std::string& queue, const core::Message& message);

/// Owns what it has read.
class MessageLine {
  public:
    MessageLine() = default;
    MessageLine(const MessageLine&) = delete;
    MessageLine& operator=(const MessageLine&) = delete;

    /// Why the line is no message; empty where it is one.
    std::string read(std::string_view line);

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
