// Work queues whose framework retries by itself what it also rejects: both bring a message back, and the copies
// multiply.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// Of the queues that the entries match, whether or not they are attached. Symfony Messenger is told by the queues for
/// its delays, which go some seconds after the last failure; Kicks and Sneakers by what their handler Maxretry
/// declares.
std::vector<Finding> check_framework_retries(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Whether `other` is where Maxretry has the messages of that work queue wait.
bool is_queue_of_maxretry(const QueuePolicies& work_queue, const QueuePolicies& other,
                          const EffectivePolicy& effective);

/// What becomes of one message that always fails, where a queue sends back each time what retryd retries as well.
std::string doubled(const core::Policy& policy, const std::string& work_queue);
/// The same of whatever brings each failure twice.
std::string one_becomes_two(const core::Policy& policy, const std::string& work_queue);

}  // namespace retryd::admin
