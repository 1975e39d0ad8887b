// How the configured work queues come to dead-letter to the error exchange: the policies to set, such that nothing that
// is in effect is lost. Only one policy applies to a queue, so each is the one in effect plus what is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// A work queue before anything is set.
struct AttachState {
    enum class State {
        attached,
        to_attach,
        out_of_reach,  // of any policy; the note has the way out
        not_there      // yet
    };
    std::string queue;
    std::string type;  // empty where it is not there
    State state = State::to_attach;
    std::string policy;  // that is in effect on it; empty: none
    std::string note;    // for the operator; may be empty
    std::string remedy;  // of what the note says
    /// What `doctor` makes of the note; nothing where there is none.
    std::optional<FindingCode> finding;
    /// The exchange that has to be bound to the error queue with these keys, as far as it can be; none: no such.
    std::vector<core::ErrorBinding> bindings = {};
    bool operator==(const AttachState&) const = default;
};

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

/// Queues that globs leave out (admin/plumbing.h) are left out, and exclusive ones: they go with their connection.
/// Where the routing of the vhost is known, exchanges of errors.bind that cannot match are seen.
AttachPlan plan_attach(const core::Policy& policy, const VhostPolicies& vhost_policies);

std::string_view to_string(AttachState::State state);

/// The name of the policy for all that is configured; others of ours have it as the beginning of theirs.
std::string general_policy_name(const core::Policy& policy);

/// The policy for all that is configured, made without looking at a broker: several where its pattern would be too
/// long.
std::vector<BrokerPolicy> general_policies(const core::Policy& policy);

/// The same policy with each of these patterns: the first has its name, the others have `.2`, `.3` … behind it.
std::vector<BrokerPolicy> in_parts(const BrokerPolicy& whole, const std::vector<std::string>& patterns);
/// Whether a policy is called like one of those.
bool is_called_like_part(std::string_view name, std::string_view whole);

/// What has to be set for these parts of a policy to be there. Former parts that are not needed any more become like
/// the last one. A policy that is called like a part and does not have all of `ours` is somebody else's.
std::vector<PolicyChange> changed_parts(const BrokerPolicy& whole, const core::Definition& ours,
                                        const std::vector<std::string>& patterns, const VhostPolicies& vhost_policies);

/// Whether what dead-letters to that exchange, as JSON text, comes to the error queue.
bool leads_to_error_queue(const core::Policy& policy, const std::string& exchange);

}  // namespace retryd::admin
