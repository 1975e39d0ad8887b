// How the configured work queues come to dead-letter to the error exchange: the policies to set, such that nothing that
// is in effect is lost. Only one policy applies to a queue, so each is the one in effect plus what is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/governance.h"
#include "core/policy.h"

namespace retryd::admin {

/// How a work queue stands before anything is set.
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
    bool operator==(const AttachState&) const = default;
};

/// A policy to be set.
struct PolicyChange {
    BrokerPolicy after;
    std::optional<BrokerPolicy> before;  // the policy of the same name, which it takes the place of
    /// What is in effect on the queues now: their policy's name, empty for none, and its definition.
    std::string in_effect;
    core::Definition definition_now;
    std::vector<std::string> queues;  // that it attaches
    std::vector<std::string> notes;   // for the operator
};

struct AttachPlan {
    std::vector<AttachState> queues;  // by name
    std::vector<PolicyChange> changes;
};

/// Exclusive queues are left out: they go with their connection.
AttachPlan attachment(const core::Policy& policy, const VhostPolicies& governance);

std::string_view to_string(AttachState::State state);

/// The policy for all that is configured, made without looking at a broker.
BrokerPolicy general_policy(const core::Policy& policy);

// What one work queue needs from a policy to be attached.

/// Whether what dead-letters to that exchange, as JSON text, comes to the error queue.
bool leads_to_error_queue(const core::Policy& policy, const std::string& exchange);

struct Needs {
    AttachState::State state = AttachState::State::attached;
    core::Definition keys;   // what the policy has to set besides what it sets; empty unless to_attach
    std::string note;        // about the queue, whatever its state
    std::string taken_from;  // the exchange, as JSON text, that its dead letters go to now and then no more
};

Needs needs_of(const QueuePolicies& queue, const core::Policy& policy, const VhostPolicies& governance);

// What `attach` says beside a policy: what setting it brings and takes, for the operator.

namespace note {

/// Of the general policy, about queues to come; `below`: the priority that would be below all other policies.
std::string for_later(std::int64_t priority, std::int64_t below);
/// Of the general policy, about a queue that it applies to until now.
std::string leaves(const std::string& queue);

/// The exchange, as JSON text, that dead letters go to until now.
std::string taken_away(const std::string& exchange);

/// Of a policy of somebody else's that is changed; whether it did not dead-letter and does now.
std::string changed(bool lost_to_streams);

/// Of a copy, and why the policy itself is not changed: one of those below.
std::string copied(const std::string& from, const std::string& why);
std::string applies_to_others(std::size_t others);
std::string stands_no_higher(const std::string& than);
std::string would_narrow();

}  // namespace note

}  // namespace retryd::admin
