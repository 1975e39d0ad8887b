// The plan of `retryd attach`: which policies to set so that the configured work queues dead-letter to the error
// exchange, without losing any setting that is in effect. RabbitMQ applies only one policy to a queue, so each planned
// policy is the one in effect plus the keys that are needed.
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

/// A binding to add: from an exchange that the configuration names in errors.bind to the error queue.
struct BindingChange {
    core::ErrorBinding binding;
    std::vector<std::string> queues;  // queues that this binding attaches, alone or together with others
    bool operator==(const BindingChange&) const = default;
};

struct AttachPlan {
    std::vector<AttachState> queues;  // by name
    std::vector<PolicyChange> changes;
    std::vector<BindingChange> bindings = {};
};

/// Leaves out the queues that globs leave out (admin/work_queues.h), and exclusive queues, which end with their
/// connection. If the routing of the vhost is known, it also finds exchanges of errors.bind whose bindings cannot
/// match.
AttachPlan plan_attach(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// The hints that `retryd attach` prints below its plan, one line each: frameworks that retry or reject as well, work
/// queues that `return: headers` would serve better, and queues that globs leave out. Those about routing keys need the
/// routing.
std::vector<std::string> attach_hints(const core::Policy& policy, const VhostPolicies& vhost_policies);

}  // namespace retryd::admin
