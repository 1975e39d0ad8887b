// A long, steady load with faults that retryd survives: does it take more and more memory, descriptors or threads?
#pragma once

#include <chrono>
#include <vector>

#include "stress/footprint.h"
#include "stress/report.h"
#include "stress/test_bed.h"

namespace retryd::stress {

/// A reading every few seconds; one line a minute goes to stderr.
std::vector<Footprint> soak(TestBed& bed, std::chrono::minutes time, Outcome& outcome);

}  // namespace retryd::stress
