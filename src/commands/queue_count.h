// How many queues a configuration makes on the broker.
#pragma once

#include <string>
#include <vector>

#include "core/policy.h"

namespace retryd::commands {

struct QueueCount {
    /// For each queue that a glob matches.
    struct PerMatch {
        std::string match;
        std::size_t queues = 0;
    };
    std::size_t fixed = 0;  // whose names are known: the error queue, the catch-all, exact entries, shared rungs
    std::vector<PerMatch> per_match;  // of the globs that make any, in the order of the entries
};

/// Without the rungs that RabbitMQ 4.0 to 4.2 needs once more for high priorities: nobody knows beforehand which.
QueueCount count_queues(const core::Policy& policy);

}  // namespace retryd::commands
