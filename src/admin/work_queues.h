// Which work queues of a configuration there are: those that it names, and of a broker's queues those that its globs
// match.
#pragma once

#include <string>
#include <vector>

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

}  // namespace retryd::admin
