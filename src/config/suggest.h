// "Did you mean …?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::config {

/// The candidate that most probably was meant: at most a third of its characters added, left out, changed, or swapped
/// with a neighbour. Nothing where none is that near. Upper and lower case, `-` and `_` count as the same.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// What to say after "unknown": the nearest of the candidates, or all of them.
std::string expected_one_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace retryd::config
