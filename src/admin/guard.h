// Policies that keep those of others from retryd's own queues. Of the policies that match a queue RabbitMQ applies the
// one with the highest priority alone, so one that stands above all others and does no harm is a guard.
#pragma once

#include <string>
#include <vector>

#include "admin/own_policies.h"

namespace retryd::admin {

/// One for all of them, also for those to come; and for those that a policy says something to now which does no harm, a
/// copy of that without the rest. Operator policies are merged with it: no policy guards from those. None before
/// RabbitMQ 3.10, and none while no queue of retryd's is there.
std::vector<PolicyChange> plan_guard(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Those of retryd's own queues that neither the guard nor another harmless policy of a priority like its own is in
/// effect on. As above, none before RabbitMQ 3.10.
std::vector<std::string> unguarded_queues(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// The name of the guard, or of its first part (in_parts() in admin/own_policies.h).
std::string guard_name(const core::Policy& policy);

/// Made without looking at a broker: several where the pattern would be too long.
std::vector<BrokerPolicy> general_guards(const core::Policy& policy);

}  // namespace retryd::admin
