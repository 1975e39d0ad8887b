// Queues that a glob names and that are no work queues: they go by themselves, or only let messages wait.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "core/policy.h"

namespace retryd::admin {

/// Why it is one, for the operator, behind `it`; empty where it is none.
std::string why_plumbing(const core::Policy& policy, const QueuePolicies& queue, const EffectivePolicy& effective);

/// The first glob of the entries that names it; empty where an entry with its very name comes before, or none does.
std::string glob_that_names(const core::Policy& policy, const std::string& queue);

struct PlumbingQueue {
    std::string queue;
    std::string glob;
    std::string why;
    bool operator==(const PlumbingQueue&) const = default;
};

/// Of all queues those that globs name and leave out. Not those that the broker has given their name (amq.…), nor
/// retryd's own.
std::vector<PlumbingQueue> plumbing_under_globs(const core::Policy& policy, const VhostPolicies& vhost_policies);

}  // namespace retryd::admin
