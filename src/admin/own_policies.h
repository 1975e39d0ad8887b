// The policies that retryd sets, some of which are copies of other people's, and the changes that it takes for them to
// be in place. A policy is set in several parts if its pattern would be too long.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "core/policy.h"

namespace retryd::admin {

/// A policy to set, new or changed.
struct PolicyChange {
    BrokerPolicy after;
    std::optional<BrokerPolicy> before;  // the policy of the same name that it replaces
    /// The policy in effect on the queues now, empty for none, and its definition.
    std::string in_effect;
    core::Definition definition_now;
    std::vector<std::string> queues;  // queues that it attaches
    std::vector<std::string> notes;   // for the operator
};

/// The definition with these keys set; they replace values that it has for them.
core::Definition merged(core::Definition definition, const core::Definition& keys);
bool has_all(const core::Definition& definition, const core::Definition& keys);

/// The definition that makes queues dead-letter to the error exchange.
core::Definition to_error_exchange(const core::Policy& policy);

/// The name of the policy for all configured work queues; the names of our other policies begin with it.
std::string general_policy_name(const core::Policy& policy);

/// The policy for all configured work queues, without asking a broker: several if its pattern would be too long.
std::vector<BrokerPolicy> general_policies(const core::Policy& policy);

/// The same policy with each of these patterns: the first has its name, the others have `.2`, `.3` … behind it.
std::vector<BrokerPolicy> in_parts(const BrokerPolicy& whole, const std::vector<std::string>& patterns);
/// Whether a policy is named like one of those parts.
bool is_called_like_part(std::string_view name, std::string_view whole);

/// The changes that put these parts in place. Earlier parts that are no longer needed become like the last one. A
/// policy that has the name of a part, but lacks some key of `ours`, is somebody else's.
std::vector<PolicyChange> changed_parts(const BrokerPolicy& whole, const core::Definition& ours,
                                        const std::vector<std::string>& patterns, const VhostPolicies& vhost_policies);

// ── Copies ──
//
// `attach` copies other people's policies, because RabbitMQ applies only one policy to a queue. A copy does not follow
// when somebody changes or deletes the original.

/// The name of a copy for work queues; no other policy of ours has such a name.
std::string copy_name(const std::string& general, const std::string& original);

/// A copy that no longer agrees with its original.
struct OutdatedCopy {
    BrokerPolicy copy;
    std::string original;
    bool original_applies = false;    // false: the original is gone, or matches none of these queues any more
    core::Definition renewed;         // what the copy would be if it were made now
    std::vector<std::string> queues;  // queues that the copy is in effect on
    bool of_guard = false;            // a copy for retryd's own queues
};

/// Each key that differs: `message-ttl is 1000 and would be 2000`.
std::string difference(const OutdatedCopy& outdated);

/// Copies that are in effect on no queue are left out.
std::vector<OutdatedCopy> outdated_copies(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// The changes that make copies agree with their originals again: those for retryd's own queues, or the others.
std::vector<PolicyChange> renewed_copies(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                         bool of_guard);

}  // namespace retryd::admin
