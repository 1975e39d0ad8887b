// What it takes for a work queue's rejected messages to reach the error queue: keys that a policy has to set, bindings,
// or something that only the owner of the queue can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/dead_letter_path.h"
#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "core/policy.h"

namespace retryd::admin {

/// The state of a work queue before anything is changed.
struct AttachState {
    enum class State {
        attached,
        to_attach,
        out_of_reach,  // no policy can attach it; the note says what can
        by_source,     // left out: its entry says that all its failures come by a source
        not_there      // not declared yet
    };
    std::string queue;
    std::string type;  // empty if the queue does not exist
    State state = State::to_attach;
    std::string policy;  // the policy in effect on it; empty: none
    std::string note;    // for the operator; may be empty
    std::string remedy;  // for what the note says
    /// The finding of `doctor` for the note; none without a note.
    std::optional<FindingCode> finding;
    /// The bindings of the error queue that it needs, as far as they can be made; none if it needs none.
    std::vector<core::ErrorBinding> bindings = {};
    bool operator==(const AttachState&) const = default;
};

std::string_view to_string(AttachState::State state);

/// What it takes to attach a queue.
struct AttachRequirement {
    AttachState::State state = AttachState::State::attached;
    core::Definition keys;   // the keys to add to its policy; empty unless to_attach
    std::string taken_from;  // where its dead letters go now, as JSON text, and will go no longer
    // For the operator, in any state; empty if there is nothing to say.
    std::string note;
    std::string remedy;
    std::optional<FindingCode> finding;
    std::vector<core::ErrorBinding> bindings = {};
};

/// For a queue that exists.
AttachRequirement requirement_of(const QueuePolicies& queue, const core::Policy& policy,
                                 const VhostPolicies& vhost_policies, const DeadLetterPaths& paths);

}  // namespace retryd::admin
