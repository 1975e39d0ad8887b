// The two clocks. Nothing in core or relay reads them: time comes in as an argument.
#pragma once

#include <chrono>

namespace retryd::core {

using Milliseconds = std::chrono::milliseconds;
/// The calendar, for what is written into headers.
using WallTime = std::chrono::sys_time<Milliseconds>;
/// Never jumps, for what is waited for.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Milliseconds>;

struct Now {
    WallTime wall;
    SteadyTime steady;
};

}  // namespace retryd::core
