// What the `parked` commands ask the broker before they touch a message: which parking queues there are, whether
// looking at a message there is safe, and whether the work queues can take messages back.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "commands/common/broker.h"
#include "config/settings.h"

namespace retryd::commands {

struct ParkingQueues {
    std::vector<std::string> names;
    /// What is parked in exchanges, or in queues whose names are unknown; one line each.
    std::vector<std::string> notes;
};

/// The catch-all and the parking queues of all entries. Those of a glob are known for `work_queue`, if that is a name,
/// and from the management API for all others.
ParkingQueues parking_queues(Broker& broker, const core::Policy& policy, const std::string& work_queue);

/// Whether a queue may be looked at: RabbitMQ 4 deletes a message from a quorum queue that was delivered and returned
/// more often than the delivery limit allows, which is 20 by default.
struct BrowsePermission {
    bool exists = false;
    bool allowed = false;
    std::size_t messages = 0;  // ready messages
    std::size_t consumers = 0;
    std::string why_not;  // cause, consequence and remedy, if it exists and may not be looked at
};

/// `vhost_policies` may be null; then only the arguments of the queue count. `despite_limit`: allowed whatever the
/// limit is. An empty queue is always allowed.
BrowsePermission may_browse(Broker& broker, const admin::VhostPolicies* vhost_policies, const std::string& queue,
                            bool despite_limit);

/// How replayed messages reach their work queues.
struct Destinations {
    std::string fault;  // why nothing can be sent at all; empty if at least one work queue exists
    std::vector<std::string> notes;
    std::set<std::string, std::less<>> reachable;  // messages of all other work queues stay
    /// Work queues with a shared ladder: through the return exchange their consumers see the producer's routing key.
    std::set<std::string, std::less<>> through_return;
};

/// Binds work queues to the return exchange if they need it. `parked_in`: the queues with the messages. `named`: the
/// operator named the work queue; otherwise it is only known from messages, and a queue that no entry in `queues:`
/// matches gets nothing.
Destinations find_destinations(Broker& broker, const config::Settings& settings,
                               const std::set<std::string>& work_queues, const std::set<std::string>& parked_in,
                               bool named);

}  // namespace retryd::commands
