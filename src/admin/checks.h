// What in the policies and arguments in effect keeps a rejected message from coming back.
#pragma once

#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// Of the queues that the entries match: does what they reject come to the error queue, and safely?
std::vector<Finding> check_work_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost);

/// Of the dead-letter exchanges of work queues: do they lead to other queues besides, and those back? Needs the
/// routing.
std::vector<Finding> check_other_queues(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Of globs: do they name queues that are no work queues?
std::vector<Finding> check_globs(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Of the error queue: whether its delivery limit is such that a message which RabbitMQ cannot hand over reaches it,
/// and no other does.
std::vector<Finding> check_error_queue(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost);

/// Of error queue, catch-all, rungs and parking queues: does a policy shorten or throw away what waits there?
std::vector<Finding> check_own_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                      std::string_view vhost);

/// Of the policies that attach made of somebody's: do they still say what those say?
std::vector<Finding> check_copies(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Of retryd's own queues: would a policy that somebody makes for all queues do so?
std::vector<Finding> check_guard(const core::Policy& policy, const VhostPolicies& vhost_policies);

}  // namespace retryd::admin
