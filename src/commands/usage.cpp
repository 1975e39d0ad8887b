#include "commands/usage.h"

#include <CLI/CLI.hpp>

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
    info.meaning = option.get_description();
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

}  // namespace retryd::commands
