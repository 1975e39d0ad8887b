// The guard: a policy that keeps other people's policies away from retryd's own queues. RabbitMQ applies only the
// matching policy with the highest priority, so one that outranks all others and does no harm protects them.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/own_policies.h"
#include "core/policy.h"

namespace retryd::admin {

/// Whether the queue is retryd's own under that policy. The name alone is not enough for a rung: other applications may
/// use such names.
bool is_retryds(const core::Policy& policy, const QueuePolicies& queue);

/// The harm that a policy does to one of retryd's own queues: it deletes the queue, shortens the time in it, or throws
/// messages away.
struct Harm {
    std::string settings;     // `max-length 5, overflow "drop-head"`; empty: it does none
    std::string consequence;  // of all these settings
    core::Definition rest;    // what else the policy sets
};
Harm harm_of(const core::Definition& definition, const QueuePolicies& queue, const std::string& error_queue);

/// The guard for all of retryd's queues, also for future ones. Where a policy now sets something harmless on them, a
/// copy of that policy without the rest. An operator policy is merged with any policy, so no guard helps against it.
/// None before RabbitMQ 3.10, and none while no queue of retryd's exists.
std::vector<PolicyChange> plan_guard(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// retryd's own queues on which neither the guard nor another harmless policy with such a priority is in effect. None
/// before RabbitMQ 3.10.
std::vector<std::string> unguarded_queues(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// The name of the guard, or of its first part (in_parts() in admin/own_policies.h).
std::string guard_name(const core::Policy& policy);

/// The guard without asking a broker: several policies if the pattern would be too long for one.
std::vector<BrokerPolicy> general_guards(const core::Policy& policy);

}  // namespace retryd::admin
