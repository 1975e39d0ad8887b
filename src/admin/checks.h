// The checks of `retryd doctor` on policies and queue arguments: what keeps a rejected message from coming back.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// Work queues: do their rejected messages reach the error queue, and at-least-once?
std::vector<Finding> check_work_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost);

/// Dead-letter exchanges of work queues: do they lead to other queues as well, and from there back? Needs the routing.
std::vector<Finding> check_other_queues(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Globs: do they match queues that are not work queues?
std::vector<Finding> check_globs(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// The error queue: its delivery limit has to be low enough for a message that RabbitMQ cannot hand over to reach it,
/// and too high for any other.
std::vector<Finding> check_error_queue(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost);

/// Error queue, catch-all, rungs and parking queues: does a policy throw messages away there, or shorten their time?
std::vector<Finding> check_own_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                      std::string_view vhost);

/// The copies that `attach` made of other people's policies: do they still agree with the originals?
std::vector<Finding> check_copies(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// retryd's own queues: would a policy for all queues, should somebody set one, throw messages away there?
std::vector<Finding> check_guard(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// A note about work queues whose producers or consumers speak AMQP 1.0: their messages were converted to AMQP 0-9-1 on
/// the way and come back without some of their sections (docs/reference.md). Empty if there are no such queues.
std::string amqp10_note(const std::set<std::string>& work_queues);

}  // namespace retryd::admin
