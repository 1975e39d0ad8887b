// An entry's ladder as a message climbs it: which failure leads where.
#pragma once

#include <string>
#include <vector>

#include "core/policy.h"

namespace retryd::commands {

/// Consecutive failures that wait on the same rung.
struct Climb {
    std::size_t first = 1;  // the number of the failure; the first is 1
    std::size_t last = 1;
    core::Milliseconds delay{};
    std::string queue;  // the rung; with {queue} in it where the entry is a glob
};

std::vector<Climb> climbs(const core::Entry& entry);

/// Where its messages are parked; with {queue} in it where only the message tells.
std::string parked(const core::Entry& entry);

/// The waits of one message that climbs all of it.
core::Milliseconds total_wait(const core::Ladder& ladder);

}  // namespace retryd::commands
