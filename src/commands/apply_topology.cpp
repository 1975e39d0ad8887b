#include "commands/apply_topology.h"

#include <algorithm>

#include "core/wanted.h"

namespace retryd::commands {
namespace {

using Outcome = amqp::Declarer::Outcome;
using Result = amqp::Declarer::Result;

void add(Finding& finding, const Outcome& outcome) {
    if (finding.state == State::unknown) {
        finding.state = outcome.result == Result::done ? State::in_place : State::missing;
    }
    if (finding.state == State::missing && finding.note.empty()) finding.note = outcome.text;
}

}  // namespace

std::vector<Outcome> declare_wanted(Broker& broker, const core::Policy& policy) {
    std::vector<Outcome> outcomes;
    for (const core::Wanted& wanted : core::wanted(policy, core::features_of(broker.identity().version)))
        outcomes.push_back(broker.carry_out(amqp::step_of(wanted.item)));
    return outcomes;
}

bool any_refused(const std::vector<Outcome>& outcomes) {
    return std::any_of(outcomes.begin(), outcomes.end(),
                       [](const Outcome& outcome) { return outcome.result == Result::refused; });
}

void add_outcomes(Plan& plan, const std::vector<Outcome>& outcomes) {
    const std::size_t count = std::min(plan.findings.size(), outcomes.size());
    for (std::size_t i = 0; i < count; ++i)
        add(plan.findings[i], outcomes[i]);
}

}  // namespace retryd::commands
