// What the daemon is told about parked messages that were older than their entry allows (`parked_age`) and have been
// taken out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"

namespace retryd::admin {

/// What happened in one parking queue for one entry.
struct AgedQueue {
    std::string queue;         // the parking queue
    std::string archive;       // the file that they were archived to; empty: they were dropped
    std::size_t messages = 0;  // how many were taken out
    std::string fault;         // why some of the old ones are still parked, with a remedy; empty if none are
};

/// What one pass over a parking queue remembers for the next pass.
struct QueueAgeMemory {
    core::SteadyTime due{};      // not to be looked at earlier
    std::size_t given_back = 0;  // how many messages at the head were held back: amqp::QueueReader::keep_few_unacked
    std::string fault;           // as AgedQueue::fault; it still lasts
};

/// The key is the entry (its `match`) and the parking queue.
using AgeMemory = std::map<std::pair<std::string, std::string>, QueueAgeMemory>;

struct AgeRun {
    std::vector<AgedQueue> queues;      // only those with something to report
    std::vector<std::string> not_seen;  // why the names of some parking queues are unknown; one line each
    core::Milliseconds next{};          // how long until the next pass is worthwhile
    AgeMemory memory = {};              // for the next pass
    bool complete = true;               // false: it ended early, and queues that are not listed were not looked at
};

}  // namespace retryd::admin
