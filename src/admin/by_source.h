// Work queues with `failures: source`, whose failures come by a source and not by the error queue: `attach` leaves them
// out. They need no dead-letter exchange, and it is a fault if they have one that leads to retryd.
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

/// For a queue that exists and whose entry says so: the finding if each failure comes twice, or not at all. `planned`:
/// what `attach` would set.
std::optional<Finding> check_by_source(const QueuePolicies& queue, const core::Policy& policy,
                                       const VhostPolicies& vhost_policies, std::string_view vhost,
                                       const std::vector<PolicyChange>& planned);

/// Why `attach` must not leave these queues out of its general policy: the failures of queues that no source can name
/// would not reach retryd at all. Empty if it may.
std::string why_not_left_out(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// One line: which entries `attach` leaves out, why, and how to change that; empty if there are none.
std::string left_out_line(const core::Policy& policy);

/// What `doctor` says about those without a fault; empty if there are none.
std::string by_source_note(const std::vector<AttachState>& queues);

/// The source that is a failure transport of Symfony Messenger and may feed that work queue; null if there is none.
const core::Source* failure_transport_of(const core::Policy& policy, std::string_view work_queue);

}  // namespace retryd::admin
