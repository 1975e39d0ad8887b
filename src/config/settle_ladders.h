// Ladders as they are written → ladders with their delays.
#pragma once

#include <vector>

#include "config/problem.h"
#include "config/written.h"

namespace retryd::config {

/// One for each that is written, in the same order. A wrong one is told, and may be without steps.
std::vector<core::Ladder> settle_ladders(const std::vector<WrittenLadder>& ladders, Problems& problems);

}  // namespace retryd::config
