// Work queues whose framework retries messages itself and rejects them as well: then both the framework and retryd
// bring each message back, and the copies multiply.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// Checks the queues that the entries match, attached or not. Symfony Messenger is recognised by its delay queues,
/// which expire some seconds after the last failure; Kicks and Sneakers by what their handler Maxretry declares.
std::vector<Finding> check_framework_retries(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Whether `other` is the queue in which Maxretry lets messages of that work queue wait.
bool is_queue_of_maxretry(const QueuePolicies& work_queue, const QueuePolicies& other,
                          const EffectivePolicy& effective);

/// In words: what happens to a message that always fails if another queue also sends back what retryd retries.
std::string doubled(const core::Policy& policy, const std::string& work_queue);
/// The same, for anything that delivers each failure twice.
std::string one_becomes_two(const core::Policy& policy, const std::string& work_queue);

}  // namespace retryd::admin
