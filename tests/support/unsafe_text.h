// Whether a text holds what no exit of retryd may let through. Its own list beside core's on purpose: a mistake there
// must not be able to hide behind the same mistake here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retryd::test {

/// The first of it with what is around it, for a person; nothing in a text that is safe. Line ends may be in it.
std::optional<std::string> unsafe_part(std::string_view text);

}  // namespace retryd::test
