// Queues and exchanges that would be two things at once.
#pragma once

#include "config/problem.h"
#include "config/written.h"

namespace retryd::config {

/// Where an entry parks: its own key, or parking.queue.
const Given<std::string>& parking_queue_of(const WrittenEntry& entry, const Written& written);

/// A work queue that retryd declares itself.
void check_own_queues(const Written& written, Problems& problems);

/// Parking that leads back into the error queue: retryd would take it out again at once, for ever.
void check_parking_loops(const Written& written, Problems& problems);

/// Bindings that are there already.
void check_bindings(const Written& written, Problems& problems);

}  // namespace retryd::config
