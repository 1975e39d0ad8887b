// That docs/logs.md names every event of the log, and none that is not there.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "support/catch.h"

namespace retryd::layering::log_events_test {
namespace {

using Names = std::set<std::string>;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The first group of every match.
Names found(const std::string& text, const std::regex& pattern) {
    Names names;
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
        names.insert((*match)[1]);
    return names;
}

/// `write(LogLevel::info, "started", …`: an event's name follows its level.
Names events_in_sources() {
    Names names;
    for (const auto& file : std::filesystem::recursive_directory_iterator{std::string{RETRYD_SOURCE_DIR} + "/src"}) {
        if (file.path().extension() != ".cpp") continue;
        names.merge(found(text_of(file.path()), std::regex{R"re((?:LogLevel::\w+|level),\s*"([a-z_]+)")re"}));
        names.merge(found(text_of(file.path()), std::regex{R"re(LogLevel::\w+ : LogLevel::\w+, "([a-z_]+)")re"}));
    }
    for (const char* const outcome : {"retried", "parked", "dropped", "sent_home"})
        names.insert(outcome);  // not literals beside their level
    return names;
}

Names events_in_document() {
    std::string first_cells;
    std::ifstream file(std::string{RETRYD_SOURCE_DIR} + "/docs/logs.md");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("| `")) first_cells += line.substr(0, line.find('|', 1));
    }
    return found(first_cells, std::regex{"`([a-z_]+)`"});
}

}  // namespace

TEST_CASE("docs/logs.md names every event that the log may have, and no other") {
    CHECK(events_in_sources().size() > 20);
    CHECK(events_in_document() == events_in_sources());
}

}  // namespace retryd::layering::log_events_test
