// What `parked` asks the broker before it touches a message: which parking queues there are, whether a message there
// may be looked at, and whether the work queues can take messages back.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "commands/common/broker.h"
#include "config/settings.h"
#include "core/time.h"
#include "system/clock.h"

namespace retryd::commands {

struct ParkingQueues {
    std::vector<std::string> names;
    /// What is parked elsewhere, or in queues whose names could not be found out; one line each.
    std::vector<std::string> notes;
};

/// The catch-all and where the entries park. The names of a glob's parking queues are known for `work_queue`, where
/// that is a name, and from the management API for all others.
ParkingQueues parking_queues(Broker& broker, const core::Policy& policy, const std::string& work_queue);

/// RabbitMQ 4 deletes a message from a quorum queue that was delivered and given back more often than the queue's
/// delivery limit allows, which is 20 by default.
struct BrowsePermission {
    bool exists = false;
    bool allowed = false;
    std::size_t messages = 0;  // ready ones
    std::size_t consumers = 0;
    std::string why_not;  // cause, consequence and remedy, where it exists and is not allowed
};

/// `vhost_policies` may be null: then the arguments of the queue are all that is known. `despite_limit`: whatever the
/// limit is. Where nothing lies, nothing can happen to it.
BrowsePermission may_browse(Broker& broker, const admin::VhostPolicies* vhost_policies, const std::string& queue,
                            bool despite_limit, const std::function<core::SteadyTime()>& clock = system::steady_now);

/// How replayed messages get to their work queues.
struct Destinations {
    std::string fault;  // why nothing is sent at all; empty where one of them at least is there
    std::vector<std::string> notes;
    std::set<std::string, std::less<>> reachable;  // the messages of all others stay
    /// Their ladder is shared: through the return exchange their consumers see the producer's routing key.
    std::set<std::string, std::less<>> through_return;
};

/// Binds those to the return exchange that need it. `parked_in`: the queues that the messages lie in. `named`: the
/// operator has named the queue; else it is only a message's word that it is its work queue, and a queue that no item
/// of `queues:` matches gets none.
Destinations find_destinations(Broker& broker, const config::Settings& settings,
                               const std::set<std::string>& work_queues, const std::set<std::string>& parked_in,
                               bool named);

}  // namespace retryd::commands
