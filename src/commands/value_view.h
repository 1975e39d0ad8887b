// Header values for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/message.h"
#include "core/value.h"

namespace retryd::commands {

/// On one line, safe for a terminal: `[{count: 1, queue: "email"}]`; times as UTC.
std::string text_of_value(const core::Value& value);

/// `{"type": "longstr", "value": "email"}`; a text that is no UTF-8, and a byte array, as `base64` instead of `value`.
/// A table is an array of `{"name", "type", "value"}`, because a name may stand in it twice.
nlohmann::ordered_json json_of_value(const core::Value& value);
nlohmann::ordered_json json_of_table(const core::Table& table);

/// Puts `KEY` in, or `KEY_base64` where the text is no UTF-8.
void put_text(nlohmann::ordered_json& object, const std::string& key, std::string_view text);

}  // namespace retryd::commands
