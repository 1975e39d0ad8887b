// Compares what is on a broker with what the configuration needs there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/refusal.h"
#include "commands/common/broker.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/topology.h"

namespace retryd::commands {

enum class State {
    in_place,
    missing,
    different,
    not_compared,  // it exists, but this user may not compare it
    refused,       // the broker would not say
    unknown        // AMQP cannot tell, and there is no management API to ask
};
std::string_view to_string(State state);

struct PlanItem {
    core::DesiredItem wanted;
    State state = State::unknown;
    std::string note;             // for the operator; may be empty
    amqp::Explanation told = {};  // the note in parts, if it has parts
};

/// A rung that is no longer used.
struct LeftOver {
    std::string queue;
    std::string type;
    core::ParsedRung rung;
    std::optional<std::int64_t> messages;  // ready, unacked, or being dead-lettered; nothing if not counted yet
};

/// An entry whose queues appear with their first messages.
struct OnDemand {
    std::string match;
    std::string ladder;
};

struct Plan {
    BrokerIdentity broker;
    std::vector<PlanItem> items;
    std::vector<OnDemand> on_demand;
    bool management = false;       // a management API is configured
    std::string management_fault;  // why it did not answer; then the fields below are unknown
    std::vector<LeftOver> left_over;
    std::string why_not_compared;  // the broker's first refusal to compare
    std::string configuration;     // configuration_option() for the commands in remedies
};

struct Summary {
    std::size_t in_place = 0;
    std::size_t missing = 0;
    std::size_t different = 0;
    std::size_t not_compared = 0;
    std::size_t refused = 0;
    std::size_t unknown = 0;
    std::size_t left_over = 0;
};

Summary summary_of(const Plan& plan);

/// For `plan`: 0 if there is nothing to do; 2 if there is; 1 if the broker did not answer every question.
int plan_exit_code(const Plan& plan);

/// For `apply`: 0 if everything is in place; 2 if something is missing that only others can make; 1 if the broker
/// refused something or did not answer every question.
int apply_exit_code(const Plan& plan, bool refused);

/// The rungs among these queues that the policy does not use, sorted by name.
std::vector<LeftOver> left_over_among(const std::vector<http::ListedQueue>& queues, const core::Policy& policy);

/// Asks the broker for each item that the configuration needs; changes nothing. Throws amqp::Error; a fault of the
/// management API is part of the plan.
Plan diff_topology(Broker& broker, const core::Policy& policy);

}  // namespace retryd::commands
