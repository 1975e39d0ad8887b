// What has become of parked messages that are older than their entry allows (`parked_age`): what the daemon hears from
// whoever has taken them out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"

namespace retryd::admin {

/// One parking queue, one entry.
struct AgedQueue {
    std::string queue;         // the parking queue
    std::string archive;       // the file that the messages are in now; empty: they are dropped
    std::size_t messages = 0;  // that are not parked any more
    std::string fault;         // why not all that are old enough; cause and remedy, empty where all
};

/// What one look at a parking queue leaves for the next one.
struct AgedBefore {
    core::SteadyTime due{};      // no look before that
    std::size_t given_back = 0;  // messages in front that were held: amqp::QueueReader::hold_few
    std::string fault;           // that lasts; as AgedQueue has it
};

/// By entry (its `match`) and parking queue.
using AgeMemory = std::map<std::pair<std::string, std::string>, AgedBefore>;

struct AgeRun {
    std::vector<AgedQueue> queues;      // of which something is to be told
    std::vector<std::string> not_seen;  // parking queues whose names could not be found out; one line each
    core::Milliseconds next{};          // when the next look makes sense
    AgeMemory memory = {};              // for that
    bool to_its_end = true;             // false: of what is not named here nothing new is known
};

}  // namespace retryd::admin
