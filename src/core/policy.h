// What the operator configured, checked: ladders and which queues climb them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::core {

enum class QueueType { quorum, classic };
std::string_view to_string(QueueType type);

/// A fixed list of delays; attempt n takes steps[n-1]. The same delay may stand there several times: one rung.
struct Ladder {
    std::string name;
    std::vector<Milliseconds> steps;  // at least one; each at least 1 ms, at most longest_ttl
    QueueType queue_type = QueueType::quorum;
};

/// One item of `queues:`.
struct Entry {
    std::string match;  // a queue name or a glob
    Ladder ladder;
    std::string parked;  // a queue name; `{queue}` in it stands for the work queue
};

struct Policy {
    std::string error_exchange = "retryd.errors";
    std::string error_queue = "retryd.errors";
    QueueType error_queue_type = QueueType::quorum;
    std::vector<Entry> entries;  // the first that matches wins
    std::string catch_all = "retryd.parked";
};

/// The entry for a work queue, or null. Valid as long as the policy.
const Entry* match(const Policy& policy, std::string_view work_queue);

}  // namespace retryd::core
