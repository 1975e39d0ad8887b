// A parked message as the text that an editor opens, and back: what `retryd parked edit` gives to a person.
//
//   // comments
//   {
//     "properties": {…},
//     "headers": [
//       {"name":"tenant","type":"longstr","value":"acme"}
//     ]
//   }
//   ----- body, as it is -----
//   the body
//
// Properties and headers are as in a line of `parked export` (message_line.h); headers that must not be changed are
// left out. The body stands behind the line of dashes up to the end of the text, less one line end, which editors like
// to add. One that no editor leaves alone (control characters, carriage returns, no UTF-8) is in the object instead, as
// "body" or "body_base64".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "commands/parked/message_line.h"
#include "core/message.h"

namespace retryd::commands {

/// `comments`: lines of our own words with safe names in them.
std::string text_for_editor(const core::Message& message, const std::string& comments);

/// What came back. Owns what it has read.
class EditedText {
  public:
    /// Why it is no message, with the line where that is known; empty where it is one.
    std::string read(std::string_view text);

    const core::Message& message() const { return line_.message(); }

  private:
    MessageLine line_;
};

/// The same JSON without blanks and line ends between its tokens; nothing where it is no JSON.
std::optional<std::string> compact_json(std::string_view text);

}  // namespace retryd::commands
