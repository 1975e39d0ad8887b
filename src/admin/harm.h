// What a policy does to a queue of retryd's own: whether it deletes, shortens or throws away what waits or is parked
// there.
#pragma once

#include <string>

#include "admin/effective_policy.h"
#include "core/policy.h"

namespace retryd::admin {

/// Whether it is one of retryd's own under that policy: of a rung its name alone tells nothing, for others call their
/// queues like that, too.
bool is_retryds(const core::Policy& policy, const QueuePolicies& queue);

struct Harm {
    std::string settings;     // `max-length 5, overflow "drop-head"`; empty: it does none
    std::string consequence;  // of all of them
    core::Definition rest;    // what else the policy says
};
Harm harm_of(const core::Definition& definition, const QueuePolicies& queue, const std::string& error_queue);

}  // namespace retryd::admin
