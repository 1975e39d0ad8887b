#include "commands/plan.h"

#include <functional>
#include <optional>
#include <ostream>

#include "amqp/error.h"
#include "amqp/remedy.h"
#include "commands/apply_topology.h"
#include "commands/broker.h"
#include "commands/exit_code.h"
#include "commands/meaning_json.h"
#include "commands/plan_json.h"
#include "commands/plan_text.h"
#include "commands/survey.h"
#include "config/load.h"

namespace retryd::commands {
namespace {

class Command {
  public:
    Command(const PlanOptions& options, std::ostream& out, std::ostream& err)
        : options_(options), out_(out), err_(err) {}

    /// Loads the configuration and does the rest with it; what goes wrong before there is a plan is told here.
    int run(const std::function<int(const config::Settings&)>& rest) {
        const auto loaded = config::load_file(options_.config_path, config::real_surroundings());
        if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
            if (options_.json) print_problems_json(*problems, options_.config_path, out_);
            err_ << config::format(*problems, options_.config_path);
            return exit_code::wrong_configuration;
        }
        try {
            return rest(std::get<config::Settings>(loaded));
        } catch (const amqp::Error& error) {
            return fail(std::string{error.what()} + "; " + amqp::remedy(error.kind()), exit_code::failed);
        }
    }

    int fail(const std::string& text, int code) {
        if (options_.json) print_failure_json(text, out_);
        err_ << "retryd: " << text << '\n';
        return code;
    }

    void print(const Plan& plan, const Pruned* pruned, int code) {
        if (options_.json) return print_plan_json(plan, pruned, code == exit_code::fine, out_);
        if (pruned != nullptr) print_pruned(*pruned, options_.colour, out_);
        print_plan(plan, options_.colour, out_);
    }

    void say(const std::string& progress) { err_ << "retryd: " << progress << std::endl; }

  private:
    const PlanOptions& options_;
    std::ostream& out_;
    std::ostream& err_;
};

}  // namespace

int plan(const PlanOptions& options, std::ostream& out, std::ostream& err) {
    Command command(options, out, err);
    return command.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd plan");
        const Plan found = survey(*broker, settings.policy);
        const int code = plan_exit_code(found);
        command.print(found, nullptr, code);
        return code;
    });
}

int apply(const PlanOptions& options, bool with_prune, std::ostream& out, std::ostream& err) {
    Command command(options, out, err);
    return command.run([&](const config::Settings& settings) {
        if (with_prune && !settings.management) {
            return command.fail(
                "--prune needs the management API: AMQP cannot tell which queues are left over, nor who may still "
                "publish to them. Nothing was done; set management.url, or leave --prune out",
                exit_code::wrong_configuration);
        }
        const auto broker = connect(settings, "retryd apply");
        const auto outcomes = declare_wanted(*broker, settings.policy);
        std::optional<Pruned> pruned;
        if (with_prune) {
            pruned = prune(*broker, settings.policy, [&](const std::string& text) { command.say(text); });
        }
        Plan found = survey(*broker, settings.policy);
        add_outcomes(found, outcomes);
        const bool refused = any_refused(outcomes) || (pruned && !pruned->refused.empty());
        const int code = apply_exit_code(found, refused);
        command.print(found, pruned ? &*pruned : nullptr, code);
        return code;
    });
}

}  // namespace retryd::commands
