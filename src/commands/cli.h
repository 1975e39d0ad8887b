// The command line: which command, with which options.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace retryd::commands {

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
