// The command line, as the manual page and the completion show it.
#include <algorithm>
#include <ostream>
#include <set>

#include "blocks.h"
#include "commands/cli.h"
#include "roff.h"

namespace retryd::manual {
namespace {

using commands::CommandInfo;
using commands::OptionInfo;
using Options = std::vector<OptionInfo>;

bool has(const Options& options, const OptionInfo& sought) {
    return std::any_of(options.begin(), options.end(), [&](const OptionInfo& option) {
        return option.names == sought.names && option.description == sought.description;
    });
}

Options without(const Options& options, const Options& others) {
    Options left;
    std::copy_if(options.begin(), options.end(), std::back_inserter(left),
                 [&](const OptionInfo& option) { return !has(others, option); });
    return left;
}

bool is_below(const CommandInfo& command, const CommandInfo& group) {
    return group.name.empty() ? !command.name.empty() : command.name.starts_with(group.name + ' ');
}

/// Has no selection of messages: it takes all of a file.
bool takes_a_file(const CommandInfo& command) {
    return command.name == "parked import";
}

/// The options that every command below `group` has that selects.
Options in_common(const CommandInfo& group, const std::vector<CommandInfo>& all) {
    Options common;
    bool first = true;
    for (const CommandInfo& command : all) {
        if (!is_below(command, group) || !command.commands.empty() || takes_a_file(command)) continue;
        common = first ? command.options : without(common, without(common, command.options));
        first = false;
    }
    return common;
}

/// Those of retryd itself, and --json, which all but `run` have.
Options general(const std::vector<CommandInfo>& all) {
    Options options = all.front().options;
    for (const OptionInfo& option : all.at(2).options)
        if (option.names == std::vector<std::string>{"--json"}) options.push_back(option);
    return options;
}

void print(const OptionInfo& option, std::ostream& out) {
    out << ".TP\n";
    for (std::size_t i = 0; i < option.names.size(); ++i)
        out << (i == 0 ? "" : ", ") << bold(option.names[i]);
    if (!option.value.empty()) out << ' ' << italic(option.value);
    out << '\n' << roff(sentence(option.description));
    if (!option.fallback.empty()) out << " Default: " << roff(option.fallback) << '.';
    out << '\n';
}

void print(const Options& options, std::ostream& out) {
    for (const OptionInfo& option : options)
        print(option, out);
}

std::string title(const CommandInfo& command) {
    std::string title = command.name;
    if (command.commands.empty()) return title;
    for (std::size_t i = 0; i < command.commands.size(); ++i)
        title += (i == 0 ? " " : "|") + command.commands[i];
    return title;
}

}  // namespace

void print_commands(std::ostream& out) {
    const auto all = commands::all_commands();
    Options told = general(all);
    for (const CommandInfo& command : all) {
        if (command.name.empty()) continue;
        if (command.name.find(' ') == std::string::npos) told = general(all);  // another group has its own
        out << ".SS \"retryd " << roff(title(command)) << "\"\n" << roff(sentence(command.description)) << '\n';
        if (command.commands.empty()) {
            print(without(command.options, told), out);
            continue;
        }
        const Options common = without(in_common(command, all), told);
        const bool one_takes_a_file = command.name == "parked";
        out << "These options select, and belong to each of its commands" << (one_takes_a_file ? " but import" : "")
            << ":\n";
        print(common, out);
        told.insert(told.end(), common.begin(), common.end());
    }
}

void print_options(std::ostream& out) {
    print(general(commands::all_commands()), out);
}

void print_valued(std::ostream& out) {
    std::set<std::string> names;
    for (const CommandInfo& command : commands::all_commands())
        for (const OptionInfo& option : command.options)
            if (!option.value.empty()) names.insert(option.names.begin(), option.names.end());
    names.erase("-c");  // the template knows these two: a file
    names.erase("--config");
    std::string separator;
    for (const std::string& name : names) {
        out << separator << name;
        separator = " | ";
    }
}

void print_words(std::ostream& out) {
    for (const CommandInfo& command : commands::all_commands()) {
        out << "        '" << command.name << "') words='";
        for (const std::string& below : command.commands)
            out << below << ' ';
        for (const OptionInfo& option : command.options)
            out << option.names.back() << (&option == &command.options.back() ? "" : " ");
        out << "' ;;\n";
    }
}

}  // namespace retryd::manual
