#include "commands/plan/plan.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/report.h"
#include "commands/plan/print_plan.h"
#include "core/safe_text.h"
#include "core/topology.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

void print(const Plan& plan, const PruneResult* pruned, int code, const Report& report) {
    if (report.json()) return print_plan_json(plan, pruned, code == exit_code::fine, report.out());
    if (pruned != nullptr) print_pruned(*pruned, report.colour(), report.out());
    print_plan(plan, report.all(), report.colour(), report.out());
}

/// Prints a line from time to time if declaring takes long.
class SlowProgress {
  public:
    explicit SlowProgress(std::ostream& err) : err_(err) {}

    void operator()(std::size_t done, std::size_t of) {
        const core::SteadyTime now = system::steady_now();
        if (now - last_ < between_lines || done == of) return;
        last_ = now;
        err_ << "retryd: " << done << " of " << of << " declared or found" << std::endl;
    }

  private:
    static constexpr core::Milliseconds between_lines{2'000};
    std::ostream& err_;
    core::SteadyTime last_ = system::steady_now();
};

}  // namespace

int plan(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd plan");
        Plan found = diff_topology(*broker, settings.policy);
        found.configuration = configuration_option(options.config_path);
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
        const Plan before = diff_topology(*broker, settings.policy);
        const auto outcomes = declare_topology(*broker, settings.policy, SlowProgress(err));
        if (!report.json()) print_declared(declared_by(before, outcomes), report.all(), report.colour(), out);
        std::optional<PruneResult> pruned;
        if (with_prune) {
            pruned = prune(*broker, settings.policy,
                           [&](const std::string& text) { err << "retryd: " << core::safe_line(text) << std::endl; });
        }
        Plan found = diff_topology(*broker, settings.policy);
        found.configuration = configuration_option(options.config_path);
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

void add_outcome(PlanItem& item, const Outcome& outcome) {
    if (item.state == State::unknown) {
        item.state = outcome.result == Result::done ? State::in_place : State::missing;
    }
    if (item.state == State::missing && item.note.empty()) item.note = outcome.text;
}

}  // namespace

std::vector<Outcome> declare_topology(Broker& broker, const core::Policy& policy, const Declared& progress) {
    std::vector<Outcome> outcomes;
    const auto all = core::desired_topology(policy, core::features_of(broker.identity().version));
    for (const core::DesiredItem& wanted : all) {
        outcomes.push_back(broker.carry_out(amqp::step_of(wanted.item)));
        if (progress) progress(outcomes.size(), all.size());
    }
    return outcomes;
}

std::vector<core::DesiredItem> declared_by(const Plan& before, const std::vector<Outcome>& outcomes) {
    std::vector<core::DesiredItem> declared;
    for (std::size_t i = 0; i < std::min(before.items.size(), outcomes.size()); ++i) {
        const bool was_missing = before.items[i].state == State::missing;
        if (was_missing && outcomes[i].result == Result::done) declared.push_back(before.items[i].wanted);
    }
    return declared;
}

bool any_refused(const std::vector<Outcome>& outcomes) {
    return std::any_of(outcomes.begin(), outcomes.end(),
                       [](const Outcome& outcome) { return outcome.result == Result::refused; });
}

void add_outcomes(Plan& plan, const std::vector<Outcome>& outcomes) {
    const std::size_t count = std::min(plan.items.size(), outcomes.size());
    for (std::size_t i = 0; i < count; ++i)
        add_outcome(plan.items[i], outcomes[i]);
}

}  // namespace retryd::commands
