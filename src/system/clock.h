// The two clocks of core/time.h, as precise as the core counts. core, relay and admin do not read them: they get the
// time as an argument.
#pragma once

#include <chrono>

#include "core/time.h"

namespace retryd::system {

inline core::WallTime wall_now() {
    return std::chrono::time_point_cast<core::Milliseconds>(std::chrono::system_clock::now());
}

inline core::SteadyTime steady_now() {
    return std::chrono::time_point_cast<core::Milliseconds>(std::chrono::steady_clock::now());
}

inline core::Now now() {
    return {wall_now(), steady_now()};
}

/// Rounded up, so that a wait of that length does not end early. Negative once the deadline is past.
inline core::Milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
    return std::chrono::ceil<core::Milliseconds>(deadline - std::chrono::steady_clock::now());
}

}  // namespace retryd::system
