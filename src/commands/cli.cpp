#include "commands/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "commands/check.h"
#include "commands/exit_code.h"
#include "config/suggest.h"

namespace retryd::commands {
namespace {

constexpr const char* default_config = "/etc/retryd/retryd.yaml";

/// Before the command or behind it: both are natural.
void add_config(CLI::App& app, std::string& path) {
    app.add_option("-c,--config", path, "The configuration file")->type_name("FILE")->capture_default_str();
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

int run_command_line(int argc, const char* const* argv, const Actions& actions) {
    return run_command_line(argc, argv, actions, std::cout, std::cerr, standard_output_is_coloured());
}

int run_command_line(int argc, const char* const* argv, const Actions& actions, std::ostream& out, std::ostream& err,
                     bool colour) {
    CLI::App app{"The retry sidecar for RabbitMQ: gives rejected messages back to their queue after a delay.",
                 "retryd"};
    app.set_version_flag("--version", "retryd " + actions.version, "Print the version and leave");
    app.set_help_flag("-h,--help", "Print this help and leave");
    app.require_subcommand(1);
    CheckOptions options{default_config, false, colour};
    add_config(app, options.config_path);

    CLI::App* run = app.add_subcommand("run", "Run the daemon, in the foreground");
    add_config(*run, options.config_path);
    CLI::App* check_command =
        app.add_subcommand("check", "Print what the configuration means, or every problem in it; talks to no broker");
    add_config(*check_command, options.config_path);
    check_command->add_flag("--json", options.json, "Print it as JSON");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return explain(app, error, out, err);
    }
    if (run->parsed()) return actions.run(options.config_path);
    return check(options, out, err);
}

}  // namespace retryd::commands
