// The clocks, read where a command begins.
#pragma once

#include "core/time.h"

namespace retryd::commands {

inline core::WallTime wall_clock() {
    return std::chrono::time_point_cast<core::Milliseconds>(std::chrono::system_clock::now());
}

inline core::Now read_clocks() {
    return {wall_clock(), std::chrono::time_point_cast<core::Milliseconds>(std::chrono::steady_clock::now())};
}

}  // namespace retryd::commands
