// Converts a parked message to the text that `retryd parked edit` opens in an editor, and back.
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
// left out. The body follows the line of dashes and extends to the end of the text, less one line end, which editors
// like to add. A body that editors would damage (control characters, carriage returns, not UTF-8) is in the object
// instead, as "body" or "body_base64".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "commands/parked/message_line.h"
#include "core/message.h"

namespace retryd::commands {

/// `comments`: lines for the person; names in them must be safe already.
std::string text_for_editor(const core::Message& message, const std::string& comments);

/// The message that came back from the editor. Owns what it has read.
class EditedText {
  public:
    /// Why it is not a message, with the line if known; empty if it is one.
    std::string read(std::string_view text);

    const core::Message& message() const { return line_.message(); }

  private:
    MessageLine line_;
};

/// The same JSON without whitespace between its tokens; nothing if it is not JSON.
std::optional<std::string> compact_json(std::string_view text);

}  // namespace retryd::commands
