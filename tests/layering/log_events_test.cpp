// That docs/logs.md names every event of the log, and none that is not there.
#include <cstddef>
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

/// The first group of every match that begins with `start`. (To try the pattern at each letter of the sources would
/// take seconds.)
Names found(const std::string& text, const std::string& start, const std::regex& pattern) {
    Names names;
    std::smatch match;
    for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
        const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
        if (std::regex_search(from, text.end(), match, pattern, std::regex_constants::match_continuous))
            names.insert(match[1]);
    }
    return names;
}

/// `write(LogLevel::info, "started", …`, `write(level, "started", …`: an event's name follows its level.
Names events_in_sources() {
    const std::regex event{R"re(evel(?:::\w+)?,\s*"([a-z_]+)")re"};
    Names names;
    for (const auto& file : std::filesystem::recursive_directory_iterator{std::string{RETRYD_SOURCE_DIR} + "/src"}) {
        if (file.path().extension() != ".cpp") continue;
        names.merge(found(text_of(file.path()), "evel", event));
    }
    for (const char* const name : {"retried", "parked", "dropped", "held", "detoured", "sent_home",
                                   "source_unavailable", "source_undeliverable", "source_unpublishable"})
        names.insert(name);  // not literals beside their level
    return names;
}

Names events_in_document() {
    std::string first_cells;
    std::ifstream file(std::string{RETRYD_SOURCE_DIR} + "/docs/logs.md");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("| `")) first_cells += line.substr(0, line.find('|', 1));
    }
    return found(first_cells, "`", std::regex{"`([a-z_]+)`"});
}

}  // namespace

TEST_CASE("docs/logs.md names every event that the log may have, and no other") {
    CHECK(events_in_sources().size() > 20);
    CHECK(events_in_document() == events_in_sources());
}

}  // namespace retryd::layering::log_events_test
