// What a work queue needs for its rejected messages to come to the error queue: keys that a policy has to set,
// bindings, or what only its owner can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/dead_letter_way.h"
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
        by_source,     // left out: its entry says that its failures come by a source alone
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

std::string_view to_string(AttachState::State state);

/// What that state asks for.
struct AttachRequirement {
    AttachState::State state = AttachState::State::attached;
    core::Definition keys;   // what the policy has to set besides what it sets; empty unless to_attach
    std::string taken_from;  // the exchange, as JSON text, that its dead letters go to now and then no more
    // About the queue, whatever its state; empty and nothing where there is no more to say.
    std::string note;
    std::string remedy;
    std::optional<FindingCode> finding;
    std::vector<core::ErrorBinding> bindings = {};
};

/// Of one queue that is there, by what is known of the vhost.
AttachRequirement requirement_of(const QueuePolicies& queue, const core::Policy& policy,
                                 const VhostPolicies& vhost_policies, const DeadLetterWays& ways);

}  // namespace retryd::admin
