// Where something stands in the file, and values that remember it.
#pragma once

#include <compare>
#include <string>

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
    std::string written{};  // of a value: as it stands in the file, before ${NAME} is replaced
};

/// A value together with where the file gives it, so that a later check can point there. Not given: `value` is the
/// default, `place` means nothing.
template <class T>
struct Given {
    T value{};
    Place place{};
    bool given = false;
};

}  // namespace retryd::config
