// A long, steady load with faults that retryd lives through: whether it takes more and more of the machine.
#pragma once

#include <chrono>
#include <vector>

#include "stress/footprint.h"
#include "stress/report.h"
#include "stress/stage.h"

namespace retryd::stress {

/// A reading every few seconds; one line a minute goes to stderr.
std::vector<Footprint> soak(Stage& stage, std::chrono::minutes time, Outcome& outcome);

}  // namespace retryd::stress
