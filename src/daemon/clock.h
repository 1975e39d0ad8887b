// The clocks, as precise as the core counts.
#pragma once

#include "core/time.h"

namespace retryd::daemon {

inline core::WallTime wall_now() {
    return std::chrono::time_point_cast<core::Milliseconds>(std::chrono::system_clock::now());
}

inline core::SteadyTime steady_now() {
    return std::chrono::time_point_cast<core::Milliseconds>(std::chrono::steady_clock::now());
}

}  // namespace retryd::daemon
