// What waits where, at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/status/daemon_view.h"
#include "core/policy.h"

namespace retryd::commands {

struct Depth {
    std::string queue;
    std::optional<std::int64_t>
        messages;  // ready ones; nothing where the queue is not there or the broker would not say
    bool operator==(const Depth&) const = default;
};

struct RungDepth {
    core::Milliseconds delay{};
    Depth depth;  // that of the rung for high priorities included
    bool operator==(const RungDepth&) const = default;
};

struct WorkQueueStatus {
    std::string work_queue;
    std::string ladder;
    bool shared = false;           // its messages wait on the ladder's own rungs, not on these
    std::vector<RungDepth> rungs;  // empty where they are shared
    std::optional<Depth> parked;   // nothing where it parks to an exchange
    std::optional<Totals> totals;  // where the daemon names it
};

/// A ladder whose rungs all its work queues share.
struct SharedLadderStatus {
    std::string name;
    std::vector<RungDepth> rungs;
};

struct Status {
    BrokerIdentity broker;
    Depth errors;
    Depth catch_all;
    std::vector<WorkQueueStatus> queues;
    std::vector<SharedLadderStatus> ladders;
    std::optional<DaemonView> daemon;
    std::vector<std::string> not_seen;  // each with what it takes
};

std::int64_t waiting(const std::vector<RungDepth>& rungs);
/// What waits and what is parked.
std::int64_t weight(const WorkQueueStatus& queue);

// Counts what waits and what is parked: asks the broker for each queue by name.

/// Changes nothing. The work queues of globs are those of which the management API knows a rung or a parking queue, and
/// those that the daemon names. The busiest first. Throws amqp::Error when the connection is lost.
Status collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon);

}  // namespace retryd::commands
