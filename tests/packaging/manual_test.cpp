// The manual pages know what the program knows.
#include <regex>
#include <sstream>

#include "../commands/command_line.h"
#include "commands/cli.h"
#include "config/keys.h"
#include "files.h"

namespace retryd::packaging::manual_test {
namespace {

/// The options that `retryd COMMAND --help` shows.
std::vector<std::string> options_in_help(const std::string& command) {
    std::vector<std::string> words;
    std::istringstream split{command};
    for (std::string word; split >> word;)
        words.push_back(word);
    std::vector<const char*> arguments;
    for (const std::string& word : words)
        arguments.push_back(word.c_str());
    arguments.push_back("--help");
    const std::string help = commands::run(arguments).out;
    const std::regex option{"\n  (-.,)?(--[a-z-]+)"};
    std::vector<std::string> options;
    for (std::sregex_iterator found{help.begin(), help.end(), option}; found != std::sregex_iterator{}; ++found)
        options.push_back((*found)[2]);
    return options;
}

/// From a heading to the next one; empty where there is none.
std::string part(const std::string& text, const std::string& heading) {
    const std::size_t begin = text.find(heading);
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find("\n.S", begin + 1) - begin);
}

}  // namespace

TEST_CASE("retryd(8) has every command, and each option of its help") {
    const std::string manual = page("retryd.8");
    const std::string general = part(manual, ".SH OPTIONS");
    const std::string selecting = part(manual, ".SS \"retryd parked list|");
    const std::string selecting_waiting = part(manual, ".SS \"retryd waiting list|");
    REQUIRE(general != "");
    REQUIRE(selecting != "");
    REQUIRE(selecting_waiting != "");
    std::size_t options = 0;
    for (const commands::CommandInfo& command : commands::all_commands()) {
        std::string where = general;
        if (command.name.starts_with("parked ")) where += selecting;
        if (command.name.starts_with("waiting ")) where += selecting_waiting;
        if (!command.name.empty()) {
            std::string own = part(manual, ".SS \"retryd " + command.name + "\"");
            if (own.empty()) own = part(manual, ".SS \"retryd " + command.name + ' ');
            REQUIRE(own.find(command.description) != std::string::npos);
            where += own;
        }
        for (const std::string& option : options_in_help(command.name)) {
            INFO(command.name << ' ' << option);
            const std::regex told{"\n\\.TP\n(-., )?" + option + "( .*)?\n"};
            CHECK(std::regex_search(where, told));
            ++options;
        }
    }
    CHECK(options > 70);
}

TEST_CASE("retryd(8) has the sections of a manual page") {
    const std::string manual = page("retryd.8");
    for (const char* name : {"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT",
                             "FILES", "SIGNALS", "EXAMPLES", "SEE ALSO"}) {
        INFO(name);
        CHECK(manual.find(std::string{"\n.SH "} + name + '\n') != std::string::npos);
    }
}

TEST_CASE("retryd.yaml(5) has every key with its default and its description") {
    const std::string manual = page("retryd.yaml.5");
    for (const config::KeyInfo& key : config::all_keys()) {
        std::string path = key.path;
        replace_all(path, ".*", ".NAME");
        INFO(path);
        const bool heading = manual.find("\n.SS " + path + '\n') != std::string::npos;
        const std::size_t at =
            manual.find("\n.TP\n" + path + (key.value.required ? " (required)" : "") +
                        (key.value.default_value.empty() ? "" : " (default: " + key.value.default_value + ")") + '\n');
        CHECK((heading || at != std::string::npos));
        std::string description = key.description;
        replace_all(description, "'", "\\(aq");
        replace_all(description, "`", "");
        replace_all(description, "…", "...");
        CHECK(manual.find('\n' + description + '\n') != std::string::npos);
    }
}

}  // namespace retryd::packaging::manual_test
