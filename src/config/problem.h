// What is wrong with a configuration, and where: the one kind of error that an operator fixes with an editor.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::config {

/// Line and column count from 1, columns in characters. Line 0: the file as a whole.
struct Position {
    int line = 0;
    int column = 0;
    auto operator<=>(const Position&) const = default;
};

/// A position and the path of the key that stands there: queues[0].match.
struct Place {
    Position at{};
    std::string path;
    std::string raw{};  // of a value: its text in the file, before ${NAME} is replaced
};

/// A value together with where the file gives it, so that a later check can point there. Not given: `value` is the
/// default, `place` means nothing.
template <class T>
struct Given {
    T value{};
    Place place{};
    bool given = false;
};

/// One thing that is wrong, where, and what would be right. Never holds a secret.
struct Problem {
    int line = 0;  // 0: the file as a whole
    int column = 0;
    std::string key;      // ladders.standard.delays[2]; empty for the file as a whole
    std::string message;  // "what is wrong; what was expected", with the nearest right name where there is one
};

using Problems = std::vector<Problem>;

/// A problem of the text at a position, not of a key.
void add(Problems& problems, Position at, std::string message);
void add(Problems& problems, const Place& place, std::string message);

/// Two keys of which only one may be given.
void refuse_both(const Place& one, const Place& other, Problems& problems);

/// `FILE:LINE:COLUMN: KEY.PATH: what is wrong; what was expected`; without LINE:COLUMN or KEY.PATH where there is none.
std::string format(const Problem& problem, std::string_view file);

/// All of them, a line each, and a last line that counts them.
std::string format(const Problems& problems, std::string_view file);

/// A piece of the file made fit to stand in a message: core::safe_name, cut to 60 bytes.
std::string escaped(std::string_view text);
/// The same in double quotes.
std::string in_quotes(std::string_view text);
/// A value as it stands in the file, in double quotes. Of a value from the environment that is the variable's name: a
/// secret may have been put into the wrong place.
std::string in_quotes(const Given<std::string>& given);

/// The candidate that most probably was meant: at most a third of its characters added, left out, changed, or swapped
/// with a neighbour. Nothing where none is that near. Upper and lower case, `-` and `_` count as the same.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// The same of a value: also the one that begins with it (warn: warning).
std::optional<std::string> nearest_value(std::string_view word, const std::vector<std::string>& choices);

/// What to say of an unknown word: "did you mean" the nearest candidate, or "expected one of" all of them.
std::string expected_one_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace retryd::config
