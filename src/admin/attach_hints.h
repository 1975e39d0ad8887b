// What `retryd attach` says beside its plan.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "core/policy.h"

namespace retryd::admin {

/// Frameworks that retry as well or reject besides, where `return: headers` serves a work queue better, and what globs
/// leave out. Each is one line. The routing keys need the routing.
std::vector<std::string> attach_hints(const core::Policy& policy, const VhostPolicies& vhost_policies);

}  // namespace retryd::admin
