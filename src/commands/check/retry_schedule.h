// What an entry of the configuration does with a message: after which failure it waits how long, in which queue. And
// how many queues all entries together make on the broker.
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
    std::vector<Lane> lanes;  // the shortest first, the step's own delay last; without jitter only that one
};

std::vector<ScheduleStep> retry_schedule(const core::Entry& entry);

/// The queue where its messages are parked, with {queue} in it where the entry is a glob; empty if they are parked
/// through an exchange.
std::string parking_queue(const core::Entry& entry);

/// All waits of a message that is parked in the end: at most, and at least, if jitter takes the shortest lane each
/// time.
core::Milliseconds total_wait(const core::Ladder& ladder);
core::Milliseconds least_wait(const core::Ladder& ladder);

struct QueueCount {
    /// For each queue that a glob matches.
    struct PerMatch {
        std::string match;
        std::size_t queues = 0;
    };
    /// With a known name: the error queue, the catch-all, the detours, those of exact entries, shared rungs.
    std::size_t fixed = 0;
    std::vector<PerMatch> per_match;  // of the globs that make any, in the order of the entries
};

/// Without the second rungs that RabbitMQ 4.0 to 4.2 needs for high priorities: they depend on the messages.
QueueCount count_queues(const core::Policy& policy);

}  // namespace retryd::commands
