// The copies that `attach` makes of other people's policies, because of those that match a queue RabbitMQ applies one
// alone. A copy stays as it is when somebody changes or deletes the policy that it was made of.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/own_policies.h"
#include "core/policy.h"

namespace retryd::admin {

/// The name of a copy for work queues: no other policy of ours is ever called so.
std::string copy_name(const std::string& general, const std::string& original);

/// One that no longer says what the policy says that it was made of.
struct OutdatedCopy {
    BrokerPolicy copy;
    std::string original;
    bool original_applies = false;    // false: it is gone, or no longer for any of these queues
    core::Definition renewed;         // what the copy would be if it were made now
    std::vector<std::string> queues;  // that it is in effect on
    bool of_guard = false;            // for queues of retryd's own
};

/// Of each key that differs: `message-ttl is 1000 and would be 2000`.
std::string difference(const OutdatedCopy& outdated);

/// None where a copy is in effect on no queue.
std::vector<OutdatedCopy> outdated_copies(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// What makes them say again what the policy says: those for queues of retryd's own, or the others.
std::vector<PolicyChange> renewed_copies(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                         bool of_guard);

}  // namespace retryd::admin
