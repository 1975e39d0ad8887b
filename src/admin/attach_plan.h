// How the configured work queues come to dead-letter to the error exchange: the policies to set, such that nothing that
// is in effect is lost. Only one policy applies to a queue, so each is the one in effect plus what is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/attach_requirement.h"
#include "admin/effective_policy.h"
#include "admin/own_policies.h"
#include "core/policy.h"

namespace retryd::admin {

/// A binding to be made: of the error queue, to an exchange that the configuration names in errors.bind.
struct BindingChange {
    core::ErrorBinding binding;
    std::vector<std::string> queues;  // that it attaches, or that need it among others
    bool operator==(const BindingChange&) const = default;
};

struct AttachPlan {
    std::vector<AttachState> queues;  // by name
    std::vector<PolicyChange> changes;
    std::vector<BindingChange> bindings = {};
};

/// Queues that globs leave out (admin/work_queues.h) are left out, and exclusive ones: they go with their connection.
/// Where the routing of the vhost is known, exchanges of errors.bind that cannot match are seen.
AttachPlan plan_attach(const core::Policy& policy, const VhostPolicies& vhost_policies);

}  // namespace retryd::admin
