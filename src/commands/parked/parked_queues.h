// The parking queues of a configuration, and whether a message there may be looked at.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/management.h"
#include "config/settings.h"

namespace retryd::commands {

struct ParkingQueues {
    std::vector<std::string> names;
    /// What is parked elsewhere, or in queues whose names nobody could tell; one line each.
    std::vector<std::string> notes;
};

/// The catch-all and where the entries park. The names of a glob's parking queues are known for `work_queue`, where
/// that is a name, and from the management API for all others.
ParkingQueues parking_queues(Broker& broker, const core::Policy& policy, const std::string& work_queue);

/// RabbitMQ 4 deletes a message from a quorum queue that was delivered and given back more often than the queue's
/// delivery limit allows, which is 20 where nobody says otherwise.
struct MayLook {
    bool exists = false;
    bool allowed = false;
    std::size_t messages = 0;  // ready ones
    std::size_t consumers = 0;
    std::string why_not;  // cause, consequence and remedy, where it exists and is not allowed
};

/// `governance` may be null: then the arguments of the queue are all that is known. `insisted`: by the operator,
/// whatever the limit is. Where nothing lies, nothing can happen to it.
MayLook may_look(Broker& broker, const admin::VhostPolicies* governance, const std::string& queue, bool insisted);

}  // namespace retryd::commands
