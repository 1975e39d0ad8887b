#include "commands/waiting/waiting_commands.h"

#include <CLI/CLI.hpp>

#include "commands/common/option_checks.h"

namespace retryd::commands {

void WaitingCommands::add_to(CLI::App& app) {
    waiting_ = app.add_subcommand("waiting", "List what waits on rungs, send it home now or park it");
    waiting_->require_subcommand(1);
    list_ = add_command("list", "Print how many messages wait on each rung; takes nothing out");
    send_ =
        add_command("send",
                    "Send messages home now, as their rung would. What is not selected goes back to its rung at the "
                    "end. Ctrl-C ends it in order");
    add_selectors(*send_);
    add_text(*send_, "--rate", rate_, "Messages per second, or unlimited", "N", check_rate)->capture_default_str();
    park_ = add_command("park", "Park messages now, as if they had used up their ladder");
    add_selectors(*park_);
}

CLI::App* WaitingCommands::add_command(const std::string& name, const std::string& what) {
    CLI::App* const command = waiting_->add_subcommand(name, what);
    command->add_option("-c,--config", config_path_, "The configuration file")->type_name("FILE");
    command->add_flag("--json", json_, "Print it as JSON");
    add_text(*command, "--from", options_.from, "This rung alone", "QUEUE", check_name);
    add_text(*command, "--queue", options_.queue, "Messages of this work queue; a name or a glob (webhook.*)", "NAME",
             check_name);
    return command;
}

void WaitingCommands::add_selectors(CLI::App& command) {
    add_text(command, "--reason", options_.reason, "Died for this reason; a name or a glob (rejected, delivery_*)",
             "REASON", check_name);
    add_text(command, "--older-than", older_than_, "First died at least that long ago: 30m, 2h, 1d", "DURATION",
             check_duration);
    add_text(command, "--newer-than", newer_than_, "First died at most that long ago", "DURATION", check_duration);
    command.add_option("--header", headers_, "With this header; the value may be a glob. Several times: all of them")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check(CLI::Validator(check_header, "", ""));
    command.add_option("--first", first_, "Only the first N of the selected")
        ->type_name("N")
        ->check(CLI::Validator(check_positive, "", ""));
    command.add_flag("--all", options_.all, "Every message; needed where nothing else selects");
    command.add_flag("--dry-run", options_.dry_run, "Print how many it would be and change nothing");
}

bool WaitingCommands::parsed() const {
    return waiting_->parsed();
}

int WaitingCommands::run(const ReportOptions& before, std::ostream& out, std::ostream& err) const {
    WaitingOptions options = options_;
    options.report = before;
    if (!config_path_.empty()) options.report.config_path = config_path_;
    options.report.json = before.json || json_;
    options.headers = matches_of(headers_);
    if (!older_than_.empty()) options.older_than = core::parse_duration(older_than_);
    if (!newer_than_.empty()) options.newer_than = core::parse_duration(newer_than_);
    if (first_ > 0) options.first = first_;
    options.per_second = rate_ == "unlimited" ? 0 : static_cast<int>(*whole_number(rate_));
    if (list_->parsed()) return waiting_list(options, out, err);
    return send_->parsed() ? waiting_send(options, out, err) : waiting_park(options, out, err);
}

}  // namespace retryd::commands
