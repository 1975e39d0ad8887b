// Which work queues of a configuration there are: those that it names, and of a broker's queues those that its globs
// match. Of what a glob matches, some queues are no work queues: they go by themselves, or only let messages wait.
#pragma once

#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::admin {

/// Those that have an entry of their own, in the order of the entries. An entry that another one comes before is not
/// used, and neither is one that names a queue of retryd's own.
std::vector<std::string> configured_work_queues(const core::Policy& policy);

/// Of all the queues on a broker the work queues that have had something to retry or to park: one of their own rungs or
/// their parking queue is there. Sorted.
std::vector<std::string> work_queues_in_use(const core::Policy& policy, const core::BrokerFeatures& features,
                                            const std::vector<std::string>& queues);

/// Why a queue is no work queue although a glob names it, for the operator, behind `it`; empty where it is one.
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
