// The command line as data: what --help shows, for the manual page and the shell's completion.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace retryd::commands {

struct OptionInfo {
    std::vector<std::string> names;  // -c, --config
    std::string value;               // FILE, NAME=VALUE; empty: a flag
    std::string fallback;            // empty: none
    std::string meaning;
};

struct CommandInfo {
    std::string name;  // as it is typed behind `retryd`: check, parked list; empty: retryd itself
    std::string meaning;
    std::vector<OptionInfo> options;
    std::vector<std::string> commands;  // the last words of those below it
};

/// Every command in the order of --help, retryd itself first, each before those below it.
std::vector<CommandInfo> all_commands();

/// The same, of a command line that has been set up.
std::vector<CommandInfo> commands_of(CLI::App& app);

}  // namespace retryd::commands
