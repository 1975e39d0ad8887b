#include "commands/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "commands/attach.h"
#include "commands/check/check.h"
#include "commands/check/schema.h"
#include "commands/common/report.h"
#include "commands/doctor.h"
#include "commands/parked/parked_cli.h"
#include "commands/plan/definitions.h"
#include "commands/plan/plan.h"
#include "commands/status/status.h"
#include "config/problem.h"

namespace retryd::commands {

namespace {

OptionInfo info_of(const CLI::Option& option) {
    OptionInfo info;
    for (const std::string& name : option.get_snames())
        info.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        info.names.push_back("--" + name);
    if (option.get_expected_max() > 0) info.value = option.get_type_name();
    info.fallback = option.get_default_str();
    info.description = option.get_description();
    return info;
}

void add(CLI::App& app, const std::string& name, std::vector<CommandInfo>& into) {
    CommandInfo info{name, app.get_description(), {}, {}};
    for (const CLI::Option* option : app.get_options())
        info.options.push_back(info_of(*option));
    const auto below = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* command : below)
        info.commands.push_back(command->get_name());
    into.push_back(std::move(info));
    for (CLI::App* command : below)
        add(*command, name.empty() ? command->get_name() : name + ' ' + command->get_name(), into);
}

}  // namespace

std::vector<CommandInfo> commands_of(CLI::App& app) {
    std::vector<CommandInfo> commands;
    add(app, "", commands);
    return commands;
}

namespace {

constexpr const char* default_config = "/etc/retryd/retryd.yaml";
constexpr const char* purpose =
    "The retry sidecar for RabbitMQ: gives rejected messages back to their queue after a delay.";

/// All options, whichever command they belong to.
struct Options {
    std::string config_path = default_config;
    bool json = false;
    bool schema = false;
    bool prune = false;
    bool apply = false;
    bool permissions = false;
    bool definitions = false;
    bool watch = false;
};

/// Before the command or behind it: both are natural.
void add_config(CLI::App& app, Options& options) {
    app.add_option("-c,--config", options.config_path, "The configuration file")
        ->type_name("FILE")
        ->capture_default_str();
}

/// A command that prints a report.
CLI::App* add_report(CLI::App& app, Options& options, const std::string& name, const std::string& what) {
    CLI::App* command = app.add_subcommand(name, what);
    add_config(*command, options);
    command->add_flag("--json", options.json, "Print it as JSON");
    return command;
}

struct Commands {
    CLI::App* run;
    CLI::App* check;
    CLI::App* plan;
    CLI::App* apply;
    CLI::App* attach;
    CLI::App* doctor;
    ParkedCommands parked;
    CLI::App* status;
};

void add_commands(CLI::App& app, Options& options, Commands& commands) {
    commands.run = app.add_subcommand("run", "Run the daemon, in the foreground");
    add_config(*commands.run, options);
    commands.check = add_report(app, options, "check",
                                "Print what the configuration means, or every problem in it; talks to no broker");
    commands.check->add_flag("--schema", options.schema,
                             "Print the configuration's JSON Schema instead; reads no file");
    commands.plan = add_report(app, options, "plan",
                               "Print what is on the broker, missing, different or left over; changes nothing");
    commands.plan->add_flag("--definitions", options.definitions,
                            "Print the whole topology as a file for rabbitmqctl import_definitions instead");
    commands.apply = add_report(app, options, "apply", "Declare what is missing on the broker, then print the plan");
    commands.apply->add_flag("--prune", options.prune, "Also delete the queues that are left over and empty");
    commands.attach = add_report(app, options, "attach",
                                 "Print the policies that connect the work queues to the error exchange, each with its "
                                 "undo; changes nothing");
    commands.attach->add_flag("--apply", options.apply, "Set them, through the management API");
    commands.doctor = add_report(
        app, options, "doctor", "Find everything that would keep a rejected message from coming back; changes nothing");
    commands.doctor->add_flag("--permissions", options.permissions,
                              "Print the permissions that retryd's user needs instead; talks to no broker");
    commands.parked.add_to(app);
    commands.status =
        add_report(app, options, "status", "Print how many messages wait on each rung and how many are parked");
    commands.status->add_flag("--watch", options.watch, "Repeat every 2 seconds until interrupted");
}

void set_up(CLI::App& app, const std::string& version, Options& options, Commands& commands) {
    app.set_version_flag("--version", "retryd " + version, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    add_config(app, options);
    add_commands(app, options, commands);
}

int run_command(const Commands& commands, const Options& options, const Actions& actions, std::ostream& out,
                std::ostream& err, bool colour) {
    const ReportOptions report{options.config_path, options.json, colour};
    if (commands.run->parsed()) return actions.run(options.config_path);
    if (commands.parked.parsed()) return commands.parked.run(report, out, err);
    if (commands.plan->parsed()) return options.definitions ? definitions(report, out, err) : plan(report, out, err);
    if (commands.apply->parsed()) return apply(report, options.prune, out, err);
    if (commands.attach->parsed()) return attach(report, options.apply, out, err);
    if (commands.doctor->parsed())
        return options.permissions ? print_needed_permissions(report, out, err) : doctor(report, out, err);
    if (commands.status->parsed()) return options.watch ? watch_status(report, out, err) : status(report, out, err);
    if (!options.schema) return check(report, out, err);
    print_schema(out);
    return exit_code::fine;
}

bool standard_output_is_coloured() {
    const char* no_colour = std::getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

/// CLI11 says of an unknown command only that it misses one.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
    const auto unknown = app.remaining();
    if (!app.get_subcommands().empty() || unknown.empty() || unknown.front().starts_with('-')) return error.what();
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return "there is no command " + unknown.front() + "; " + config::expected_one_of(unknown.front(), names);
}

/// Help and version are asked for by exceptions of success.
int explain(const CLI::App& app, const CLI::ParseError& error, std::ostream& out, std::ostream& err) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error, out, err);
    const auto commands = app.get_subcommands();
    err << "retryd: " << what_is_wrong(app, error) << '\n'
        << "`retryd " << (commands.empty() ? "" : commands.front()->get_name() + " ")
        << "--help` shows what there is.\n";
    return exit_code::wrong_usage;
}

}  // namespace

std::vector<CommandInfo> all_commands() {
    CLI::App app{purpose, "retryd"};
    Options options;
    Commands commands{};
    set_up(app, "", options, commands);
    return commands_of(app);
}

int run_command_line(int argc, const char* const* argv, const Actions& actions) {
    const int code = run_command_line(argc, argv, actions, std::cout, std::cerr, standard_output_is_coloured());
    std::cout.flush();
    if (std::cout || code != exit_code::fine) return code;
    std::cerr << "retryd: not all of the output could be written: is the disk full?\n";
    return exit_code::failed;
}

int run_command_line(int argc, const char* const* argv, const Actions& actions, std::ostream& out, std::ostream& err,
                     bool colour) {
    CLI::App app{purpose, "retryd"};
    Options options;
    Commands commands{};
    set_up(app, actions.version, options, commands);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return explain(app, error, out, err);
    }
    return run_command(commands, options, actions, out, err, colour);
}

}  // namespace retryd::commands
