// The queues that retryd looks after, as far as they are known: by the configuration, by what went by, by what the
// management API lists. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/broker_features.h"
#include "core/policy.h"
#include "core/topology.h"
#include "telemetry/depth.h"
#include "telemetry/tally.h"

namespace retryd::daemon {

/// A queue on the broker, with the arguments that it was declared with.
using ListedQueues = std::vector<std::pair<std::string, core::Arguments>>;

struct KeptQueue {
    telemetry::Depth::Role role = telemetry::Depth::Role::errors;
    core::Milliseconds delay{};  // of a rung
    std::string serves;          // of a rung: the work queue, or the ladder whose work queues share it
    bool shared = false;
    bool operator==(const KeptQueue&) const = default;
};

struct Inventory {
    /// By name.
    std::map<std::string, KeptQueue> queues;
    /// Those with an entry of their own, those met and those listed, as long as an entry matches.
    std::vector<std::string> work_queues;  // sorted
};

/// No more than so many queues, those that the configuration names first: all of them have to be asked for within a
/// minute.
inline constexpr std::size_t most_kept_queues = 4'000;

/// What is known beside the configuration.
struct Seen {
    std::vector<telemetry::QueueCounts> met;
    ListedQueues listed;
};

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features, const Seen& seen);

}  // namespace retryd::daemon
