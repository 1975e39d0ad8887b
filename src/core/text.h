// As much of UTF-8 as messages need: is it any, how many characters, where to cut.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace retryd::core {

/// The length of the longest beginning that is UTF-8 and holds no NUL; text.size() if all of it is.
std::size_t valid_utf8_length(std::string_view text);

/// How many characters (code points) the text has.
std::size_t characters(std::string_view text);

/// At most `longest` bytes off the front, cut between two characters.
std::string_view utf8_prefix(std::string_view text, std::size_t longest);

// JSON as far as a policy's definition needs it to be written.

/// What a policy sets: JSON texts by key.
using Definition = std::map<std::string, std::string>;

/// As a JSON string, quotes included; bytes beyond ASCII stay as they are.
std::string json_string(std::string_view text);

/// `{"max-length": 1000, "overflow": "reject-publish"}`
std::string json_object(const Definition& definition);

}  // namespace retryd::core
