// Shows message bodies and header values, which may contain anything, to people and programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/message.h"
#include "core/value.h"

namespace retryd::commands {

/// A message body for people.
struct BodyView {
    std::string title;  // what it is: "JSON, 120 bytes", "text, 12 bytes", "hex, 9 of 9 bytes: …"
    std::string text;   // safe for a terminal
};

/// JSON is indented without changing any token; other UTF-8 is shown as text; everything else, and a body with a
/// content-encoding, as a hex dump. A long body is cut, and the title says so.
BodyView view_of_body(std::string_view body, const std::optional<std::string_view>& content_encoding);

/// The same JSON, indented; nothing if it is not JSON or nests too deep.
std::optional<std::string> indent_json(std::string_view text);

/// On one line, safe for a terminal: `[{count: 1, queue: "email"}]`; times as UTC.
std::string text_of_value(const core::Value& value);

/// `{"type": "longstr", "value": "email"}`; text that is not UTF-8, and a byte array, as `base64` instead of `value`. A
/// table is an array of `{"name", "type", "value"}`, because a name may be in it twice.
nlohmann::ordered_json json_of_value(const core::Value& value);
nlohmann::ordered_json json_of_table(const core::Table& table);

/// Adds `KEY`, or `KEY_base64` if the text is not UTF-8.
void put_text(nlohmann::ordered_json& object, const std::string& key, std::string_view text);

}  // namespace retryd::commands
