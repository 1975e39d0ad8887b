// Checks for the values of options, shared by the commands that select messages.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "admin/parked.h"
#include "core/duration.h"
#include "core/safe_text.h"

namespace retryd::commands {

inline std::optional<std::size_t> whole_number(const std::string& text) {
    std::size_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || number > 1'000'000'000) return std::nullopt;
    return number;
}

inline std::string check_duration(const std::string& text) {
    return core::parse_duration(text) ? "" : core::quoted(text) + " is no duration: 30s, 10m, 2h, 1d, 1h30m";
}

inline std::string check_header(const std::string& text) {
    return text.find('=') != std::string::npos && text.front() != '=' ? "" : core::quoted(text) + " is not NAME=VALUE";
}

inline std::string check_number(const std::string& text) {
    return whole_number(text) ? "" : core::quoted(text) + " is no number";
}

inline std::string check_positive(const std::string& text) {
    return whole_number(text).value_or(0) > 0 ? "" : core::quoted(text) + " is no number above 0";
}

inline std::string check_rate(const std::string& text) {
    return text == "unlimited" || whole_number(text).value_or(0) > 0
               ? ""
               : core::quoted(text) + " is no number above 0, nor unlimited";
}

inline std::string check_stop(const std::string& text) {
    return text == "never" || whole_number(text) ? "" : core::quoted(text) + " is no number, nor never";
}

inline std::string check_name(const std::string& text) {
    return text.empty() ? "a name is expected" : "";
}

inline std::string check_file(const std::string& text) {
    return text.empty() || text == "-" ? "the name of a file is expected" : "";
}

inline CLI::Option* add_text(CLI::App& command, const std::string& name, std::string& into, const std::string& what,
                             const char* type, std::string (*check)(const std::string&)) {
    return command.add_option(name, into, what)->type_name(type)->check(CLI::Validator(check, "", ""));
}

inline std::vector<admin::HeaderMatch> matches_of(const std::vector<std::string>& texts) {
    std::vector<admin::HeaderMatch> matches;
    for (const std::string& text : texts) {
        const std::size_t sign = text.find('=');
        matches.push_back({text.substr(0, sign), text.substr(sign + 1)});
    }
    return matches;
}

}  // namespace retryd::commands
