// The policies that retryd sets, each in as many parts as the length of a pattern asks for, and what has to be changed
// for them to be there. Some of them are copies of other people's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "core/policy.h"

namespace retryd::admin {

/// A policy to be set, new or changed.
struct PolicyChange {
    BrokerPolicy after;
    std::optional<BrokerPolicy> before;  // the policy of the same name, which it takes the place of
    /// What is in effect on the queues now: their policy's name, empty for none, and its definition.
    std::string in_effect;
    core::Definition definition_now;
    std::vector<std::string> queues;  // that it attaches
    std::vector<std::string> notes;   // for the operator
};

/// With these keys set, over what it said of them.
core::Definition merged(core::Definition definition, const core::Definition& keys);
bool has_all(const core::Definition& definition, const core::Definition& keys);

/// What a policy has to say for queues to dead-letter to the error exchange.
core::Definition to_error_exchange(const core::Policy& policy);

/// The name of the policy for all that is configured; others of ours have it as the beginning of theirs.
std::string general_policy_name(const core::Policy& policy);

/// The policy for all that is configured, made without looking at a broker: several where its pattern would be too
/// long.
std::vector<BrokerPolicy> general_policies(const core::Policy& policy);

/// The same policy with each of these patterns: the first has its name, the others have `.2`, `.3` … behind it.
std::vector<BrokerPolicy> in_parts(const BrokerPolicy& whole, const std::vector<std::string>& patterns);
/// Whether a policy has the name of one of those.
bool is_called_like_part(std::string_view name, std::string_view whole);

/// What has to be set for these parts of a policy to be there. Former parts that are not needed any more become like
/// the last one. A policy that has the name of a part, but not all of `ours`, is foreign.
std::vector<PolicyChange> changed_parts(const BrokerPolicy& whole, const core::Definition& ours,
                                        const std::vector<std::string>& patterns, const VhostPolicies& vhost_policies);

// ── Copies ──
//
// `attach` copies other people's policies, because of those that match a queue RabbitMQ applies one alone. A copy stays
// as it is when somebody changes or deletes the policy that it was made of.

/// The name of a copy for work queues: no other policy of ours is ever called so.
std::string copy_name(const std::string& general, const std::string& original);

/// One that no longer says what the policy says that it was made of.
struct OutdatedCopy {
    BrokerPolicy copy;
    std::string original;
    bool original_applies = false;    // false: it is gone, or no longer for any of these queues
    core::Definition renewed;         // what the copy would be if it were made now
    std::vector<std::string> queues;  // that it is in effect on
    bool of_guard = false;            // for queues of retryd's own
};

/// Of each key that differs: `message-ttl is 1000 and would be 2000`.
std::string difference(const OutdatedCopy& outdated);

/// None where a copy is in effect on no queue.
std::vector<OutdatedCopy> outdated_copies(const core::Policy& policy, const VhostPolicies& vhost_policies);

/// What makes them say again what the policy says: those for queues of retryd's own, or the others.
std::vector<PolicyChange> renewed_copies(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                         bool of_guard);

}  // namespace retryd::admin
