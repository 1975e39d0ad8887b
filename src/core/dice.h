// Randomness comes in as an argument, like time.
#pragma once

#include <functional>

namespace retryd::core {

/// Uniform in [0, 1).
using Dice = std::function<double()>;

}  // namespace retryd::core
