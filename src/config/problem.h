// What is wrong with a configuration: the one kind of error that an operator mends with an editor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/position.h"

namespace retryd::config {

/// One thing that is wrong, where, and what would be right. Never holds a secret.
struct Problem {
    int line = 0;  // 0: the file as a whole
    int column = 0;
    std::string key;      // ladders.standard.delays[2]; empty for the file as a whole
    std::string message;  // "what is wrong; what was expected", with the nearest right name where there is one
};

using Problems = std::vector<Problem>;

/// `FILE:LINE:COLUMN: KEY.PATH: what is wrong; what was expected`; without LINE:COLUMN or KEY.PATH where there is none.
std::string format(const Problem& problem, std::string_view file);

/// All of them, a line each, and a last line that counts them.
std::string format(const Problems& problems, std::string_view file);

/// Of the file as such, not of a key.
void add(Problems& problems, Position at, std::string message);
void add(Problems& problems, const Place& place, std::string message);

/// A piece of the file made fit to stand in a message: control characters escaped, long ones cut.
std::string escaped(std::string_view text);
/// The same in double quotes.
std::string shown(std::string_view text);
/// As it stands in the file: of what the environment holds only the variable, which may have been put into the wrong
/// place.
std::string shown(const Given<std::string>& given);

// "Did you mean …?"

/// The candidate that most probably was meant: at most a third of its characters added, left out, changed, or swapped
/// with a neighbour. Nothing where none is that near. Upper and lower case, `-` and `_` count as the same.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// What to say after "unknown": the nearest of the candidates, or all of them.
std::string expected_one_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace retryd::config
