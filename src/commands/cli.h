// The command line: which command, with which options. Also as data, from which the manual page and the shell's
// completion are made.
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
    std::string fallback;            // empty: none
    std::string description;
};

/// A command as --help shows it.
struct CommandInfo {
    std::string name;  // as it is typed behind `retryd`: check, parked list; empty: retryd itself
    std::string description;
    std::vector<OptionInfo> options;
    std::vector<std::string> commands;  // the last words of those below it
};

/// Every command in the order of --help, retryd itself first, each before those below it.
std::vector<CommandInfo> all_commands();

/// The same, of a command line that has been set up.
std::vector<CommandInfo> commands_of(CLI::App& app);

/// What the command line starts but does not know: handed in by main.
struct Actions {
    std::string version;
    std::function<int(const std::string& config_path)> run;
};

/// Reads the command line, does what it says and returns the exit code: the command's own, 0 for --help and
/// --version, 64 for wrong usage. Coloured if standard output is a terminal and NO_COLOR is unset or empty.
int run_command_line(int argc, const char* const* argv, const Actions& actions);

/// The same, writing to `out` and `err`.
int run_command_line(int argc, const char* const* argv, const Actions& actions, std::ostream& out, std::ostream& err,
                     bool colour);

}  // namespace retryd::commands
