// Foreign bodies and header values, shown to people and to programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/message.h"
#include "core/value.h"

namespace retryd::commands {

/// A message's body as a person may look at it.
struct BodyView {
    std::string title;  // what it is: "JSON, 120 bytes", "text, 12 bytes", "hex, 9 of 9 bytes: …"
    std::string text;   // lines that are safe for a terminal
};

/// JSON is set out line by line without a change to any of its tokens; other UTF-8 is shown as text; the rest, and what
/// has a content-encoding, as a hex dump. A long one is cut, and the title says so.
BodyView view_of_body(std::string_view body, const std::optional<std::string_view>& content_encoding);

/// The same JSON text with line ends and blanks between its tokens; nothing where it is no JSON or nests too deep.
std::optional<std::string> indent_json(std::string_view text);

/// On one line, safe for a terminal: `[{count: 1, queue: "email"}]`; times as UTC.
std::string text_of_value(const core::Value& value);

/// `{"type": "longstr", "value": "email"}`; a text that is no UTF-8, and a byte array, as `base64` instead of `value`.
/// A table is an array of `{"name", "type", "value"}`, because a name may stand in it twice.
nlohmann::ordered_json json_of_value(const core::Value& value);
nlohmann::ordered_json json_of_table(const core::Table& table);

/// Puts `KEY` in, or `KEY_base64` where the text is no UTF-8.
void put_text(nlohmann::ordered_json& object, const std::string& key, std::string_view text);

}  // namespace retryd::commands
