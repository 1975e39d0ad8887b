// JSON as far as a policy's definition needs it to be written.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace retryd::core {

/// What a policy sets: JSON texts by key.
using Definition = std::map<std::string, std::string>;

/// As a JSON string, quotes included; bytes beyond ASCII stay as they are.
std::string json_string(std::string_view text);

/// `{"max-length": 1000, "overflow": "reject-publish"}`
std::string json_object(const Definition& definition);

}  // namespace retryd::core
