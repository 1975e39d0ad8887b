// One item of a ladder's delays: `30s`, or `30s x3` for three attempts on the same rung.
#pragma once

#include <optional>
#include <string_view>

#include "core/time.h"

namespace retryd::config {

/// A ladder has at most this many attempts.
inline constexpr int longest_ladder = 1000;

struct Steps {
    core::Milliseconds delay{};
    int times = 1;  // 1 to longest_ladder
};

/// Nothing where it is neither. Whether the delay is possible is not asked here.
std::optional<Steps> parse_steps(std::string_view text);

}  // namespace retryd::config
