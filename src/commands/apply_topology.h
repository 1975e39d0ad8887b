// Declares all that a configuration wants on a broker.
#pragma once

#include <vector>

#include "commands/broker.h"
#include "commands/plan_state.h"
#include "core/policy.h"

namespace retryd::commands {

/// Goes on after a refusal. What became of each item, in the order of core::wanted. Throws amqp::Error.
std::vector<amqp::Declarer::Outcome> declare_wanted(Broker& broker, const core::Policy& policy);

bool any_refused(const std::vector<amqp::Declarer::Outcome>& outcomes);

/// Puts into the plan that was made afterwards what declaring told and looking cannot: that a binding was made, and why
/// something is still not there.
void add_outcomes(Plan& plan, const std::vector<amqp::Declarer::Outcome>& outcomes);

}  // namespace retryd::commands
