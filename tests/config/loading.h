// Loads a configuration that a test writes down, with an environment and files that it writes down too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/load.h"
#include "support/catch.h"

namespace retryd::config {

struct World {
    std::map<std::string, std::string> environment;
    std::map<std::string, std::string> files;
};

inline FileEnvironment env(const World& world) {
    return {[world](const std::string& name) -> std::optional<std::string> {
                const auto found = world.environment.find(name);
                if (found == world.environment.end()) return std::nullopt;
                return found->second;
            },
            [world](const std::string& path, std::string& error) -> std::optional<std::string> {
                const auto found = world.files.find(path);
                if (found != world.files.end()) return found->second;
                error = "No such file or directory";
                return std::nullopt;
            }};
}

/// All the problems, as an operator sees them: one a line, of a file called `f`. Empty: there are none.
inline std::string problems_of(const std::string& text, const World& world = {}) {
    const auto loaded = load(text, env(world));
    std::string lines;
    if (const auto* problems = std::get_if<Problems>(&loaded)) {
        for (const Problem& problem : *problems)
            lines.append(format(problem, "f")).append("\n");
    }
    return lines;
}

/// What is wrong with a text of one problem, without its place and what is expected; all of it where these differ.
inline std::string only_complaint(const std::string& text, const std::string& place, const std::string& expected) {
    const std::string line = problems_of(text);
    if (!line.starts_with(place) || !line.ends_with(expected)) return line;
    return line.substr(place.size(), line.size() - place.size() - expected.size());
}

inline Settings settings_of(const std::string& text, const World& world = {}) {
    INFO(problems_of(text, world));
    auto loaded = load(text, env(world));
    REQUIRE(std::holds_alternative<Settings>(loaded));
    return std::get<Settings>(std::move(loaded));
}

/// What every file must have; tests of other keys put theirs before it.
inline const std::string smallest = "ladders: {s: {delays: [1s]}}\nqueues: [{match: email, ladder: s}]\n";

}  // namespace retryd::config
