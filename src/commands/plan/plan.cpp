#include "commands/plan/plan.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include "commands/common/broker.h"
#include "commands/common/report.h"
#include "commands/plan/plan_output.h"
#include "commands/plan/topology_diff.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

void print(const Plan& plan, const Pruned* pruned, int code, const Report& report) {
    if (report.json()) return print_plan_json(plan, pruned, code == exit_code::fine, report.out());
    if (pruned != nullptr) print_pruned(*pruned, report.colour(), report.out());
    print_plan(plan, report.colour(), report.out());
}

}  // namespace

int plan(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd plan");
        const Plan found = diff_topology(*broker, settings.policy);
        const int code = plan_exit_code(found);
        print(found, nullptr, code, report);
        return code;
    });
}

int apply(const ReportOptions& options, bool with_prune, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        if (with_prune && !settings.management) {
            return report.fail(
                "--prune needs the management API: AMQP cannot tell which queues are left over, nor who may still "
                "publish to them. Nothing was done; set management.url, or leave --prune out",
                exit_code::wrong_configuration);
        }
        const auto broker = connect(settings, "retryd apply");
        const auto outcomes = declare_wanted(*broker, settings.policy);
        std::optional<Pruned> pruned;
        if (with_prune) {
            pruned = prune(*broker, settings.policy,
                           [&](const std::string& text) { err << "retryd: " << text << std::endl; });
        }
        Plan found = diff_topology(*broker, settings.policy);
        add_outcomes(found, outcomes);
        const bool refused = any_refused(outcomes) || (pruned && !pruned->refused.empty());
        const int code = apply_exit_code(found, refused);
        print(found, pruned ? &*pruned : nullptr, code, report);
        return code;
    });
}

namespace {

using Outcome = amqp::Declarer::Outcome;
using Result = amqp::Declarer::Result;

void add(PlanItem& finding, const Outcome& outcome) {
    if (finding.state == State::unknown) {
        finding.state = outcome.result == Result::done ? State::in_place : State::missing;
    }
    if (finding.state == State::missing && finding.note.empty()) finding.note = outcome.text;
}

}  // namespace

std::vector<Outcome> declare_wanted(Broker& broker, const core::Policy& policy) {
    std::vector<Outcome> outcomes;
    for (const core::DesiredItem& wanted : core::desired_topology(policy, core::features_of(broker.identity().version)))
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
