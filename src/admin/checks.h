// What in the policies and arguments in effect keeps a rejected message from coming back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "core/policy.h"

namespace retryd::admin {

enum class Severity {
    problem,  // messages are lost or do not come back
    warning,  // they may be, or it is less safe than it could be
};

struct Finding {
    Severity severity = Severity::problem;
    std::string cause;        // what is so, with the names
    std::string consequence;  // may be empty where the cause says it
    std::string remedy;
    bool operator==(const Finding&) const = default;
};

/// Of the queues that the entries match: does what they reject come to the error queue, and safely?
std::vector<Finding> check_work_queues(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Of error queue, catch-all, rungs and parking queues: does a policy shorten or throw away what waits there?
/// Whether its delivery limit is such that a message which RabbitMQ cannot hand over reaches it, and no other does.
std::vector<Finding> check_error_queue(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost);

std::vector<Finding> check_own_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                      std::string_view vhost);

}  // namespace retryd::admin
