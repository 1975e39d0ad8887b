// A regular expression as RabbitMQ searches names with it, for policies and permissions.
#pragma once

#include <map>
#include <regex>
#include <string>

namespace retryd::test {

/// Each pattern is compiled once: that takes far longer than a search.
inline bool pattern_matches(const std::string& pattern, const std::string& name) {
    static std::map<std::string, std::regex> compiled;
    const auto known = compiled.find(pattern);
    return std::regex_search(
        name, known != compiled.end() ? known->second : compiled.emplace(pattern, pattern).first->second);
}

}  // namespace retryd::test
