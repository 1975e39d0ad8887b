// Work queues whose failures come by a source alone (`failures: source`): `attach` leaves them out, and nothing is
// missing where they have no dead-letter exchange; but it is wrong where they have retryd's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/attach_plan.h"
#include "admin/attach_requirement.h"
#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// Of a queue that is there and whose entry says so: that each failure comes twice, or by nothing. `planned`: what
/// `attach` would set.
std::optional<Finding> check_by_source(const QueuePolicies& queue, const core::Policy& policy,
                                       const VhostPolicies& vhost_policies, std::string_view vhost,
                                       const std::vector<PolicyChange>& planned);

/// Why `attach` must not take out of its general policy what says so: queues under it that no source can name would
/// come to retryd by nothing. Empty where it may.
std::string why_not_left_out(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// Which entries `attach` leaves out, why, and what would change that: one line; empty where there are none.
std::string left_out_line(const core::Policy& policy);

/// What `doctor` says of those with which nothing is wrong; empty where there are none.
std::string by_source_note(const std::vector<AttachState>& queues);

/// Of a failure transport of Symfony's that may serve that work queue; null where there is none.
const core::Source* failure_transport_of(const core::Policy& policy, std::string_view work_queue);

}  // namespace retryd::admin
