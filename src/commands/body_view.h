// A message's body as a person may look at it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retryd::commands {

struct BodyView {
    std::string title;  // what it is: "JSON, 120 bytes", "text, 12 bytes", "hex, 9 of 9 bytes: …"
    std::string text;   // lines that are safe for a terminal
};

/// JSON is set out line by line without a change to any of its tokens; other UTF-8 is shown as text; the rest, and what
/// has a content-encoding, as a hex dump. A long one is cut, and the title says so.
BodyView view_of_body(std::string_view body, const std::optional<std::string_view>& content_encoding);

/// The same JSON text with line ends and blanks between its tokens; nothing where it is no JSON or nests too deep.
std::optional<std::string> set_out_json(std::string_view text);

}  // namespace retryd::commands
