// Which queues of a broker are work queues of a configuration: those that it names, and those that its globs match.
// Some queues that a glob matches are not work queues: they are temporary, or only delay messages.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::admin {

/// The queues that have an entry of their own, in the order of the entries. Leaves out entries that an earlier one
/// hides, and those that name one of retryd's own queues.
std::vector<std::string> configured_work_queues(const core::Policy& policy);

/// Those of a broker's queues that have had messages to retry or to park: one of their own rungs or their parking queue
/// exists. Sorted.
std::vector<std::string> work_queues_in_use(const core::Policy& policy, const core::BrokerFeatures& features,
                                            const std::vector<std::string>& queues);

/// Why a queue is not a work queue although a glob matches it, as a clause that follows "it"; empty if it is one.
std::string why_plumbing(const core::Policy& policy, const QueuePolicies& queue, const EffectivePolicy& effective);

/// The first glob that matches it; empty if an entry with its exact name comes earlier, or no glob matches.
std::string glob_that_names(const core::Policy& policy, const std::string& queue);

struct PlumbingQueue {
    std::string queue;
    std::string glob;
    std::string why;
    bool operator==(const PlumbingQueue&) const = default;
};

/// The queues that globs match and leave out, without those named by the broker (amq.…) and retryd's own.
std::vector<PlumbingQueue> plumbing_under_globs(const core::Policy& policy, const VhostPolicies& vhost_policies);

}  // namespace retryd::admin
