// An entry's ladder as a message climbs it: which failure leads where.
#pragma once

#include <string>
#include <vector>

#include "core/policy.h"

namespace retryd::commands {

/// One of the queues of a step.
struct Lane {
    core::Milliseconds delay{};
    std::string queue;  // the rung; with {queue} in it where the entry is a glob and its rungs are not shared
};

/// Consecutive failures that wait on the same rung.
struct ScheduleStep {
    std::size_t first = 1;  // the number of the failure; the first is 1
    std::size_t last = 1;
    core::Milliseconds delay{};
    std::vector<Lane> lanes;  // the shortest first, the step's own delay last; that alone without jitter
};

std::vector<ScheduleStep> retry_schedule(const core::Entry& entry);

/// The queue where its messages are parked, with {queue} in it where only the message tells; empty for an exchange.
std::string parking_queue(const core::Entry& entry);

/// The waits of one message that climbs all of it: at the longest, and with the luck of every shortest lane.
core::Milliseconds total_wait(const core::Ladder& ladder);
core::Milliseconds least_wait(const core::Ladder& ladder);

// How many queues a configuration makes on the broker.

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
