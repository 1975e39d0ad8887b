// As much of UTF-8 as messages need: is it any, how many characters, where to cut.
#pragma once

#include <cstddef>
#include <string_view>

namespace retryd::core {

/// The length of the longest beginning that is UTF-8 and holds no NUL; text.size() if all of it is.
std::size_t valid_utf8_length(std::string_view text);

/// How many characters (code points) the text has.
std::size_t characters(std::string_view text);

/// At most `longest` bytes off the front, cut between two characters.
std::string_view utf8_prefix(std::string_view text, std::size_t longest);

}  // namespace retryd::core
