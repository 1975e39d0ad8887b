// The command line: commands and their options. Also as data, from which the manual page and the shell completion are
// made.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace retryd::commands {

/// An option as --help shows it.
struct OptionInfo {
    std::vector<std::string> names;  // -c, --config
    std::string value;               // FILE, NAME=VALUE; empty: a flag
    std::string fallback;            // the default; empty: none
    std::string description;
};

/// A command as --help shows it.
struct CommandInfo {
    std::string name;  // as typed after `retryd`: check, parked list; empty: retryd itself
    std::string description;
    std::vector<OptionInfo> options;
    std::vector<std::string> commands;  // the names of its subcommands
};

/// All commands in the order of --help; retryd itself first, each before its subcommands.
std::vector<CommandInfo> all_commands();

/// The same, for a command line that has been set up.
std::vector<CommandInfo> commands_of(CLI::App& app);

/// What the command line starts but cannot include: handed in by main.
struct Actions {
    std::string version;
    std::function<int(const std::string& config_path)> run;
};

/// Reads the command line, runs the command and returns its exit code; 0 for --help and --version, 64 for wrong usage.
/// Uses colours if standard output is a terminal and NO_COLOR is unset or empty.
int run_command_line(int argc, const char* const* argv, const Actions& actions);

/// The same, writing to `out` and `err`.
int run_command_line(int argc, const char* const* argv, const Actions& actions, std::ostream& out, std::ostream& err,
                     bool colour);

}  // namespace retryd::commands
