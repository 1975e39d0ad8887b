// The options that `retryd parked` and `retryd waiting` share, and the checks for the values of options.
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

/// `--config` and `--json`.
inline void add_report_options(CLI::App& command, std::string& config_path, bool& json) {
    command.add_option("-c,--config", config_path, "The configuration file")->type_name("FILE");
    command.add_flag("--json", json, "Print it as JSON");
}

inline void add_work_queue(CLI::App& command, std::string& queue) {
    add_text(command, "--queue", queue, "Messages of this work queue; a name or a glob (webhook.*)", "NAME",
             check_name);
}

inline void add_rate(CLI::App& command, std::string& rate) {
    add_text(command, "--rate", rate, "Messages per second, or unlimited", "N", check_rate)->capture_default_str();
}

inline int per_second_of(const std::string& rate) {
    return rate == "unlimited" ? 0 : static_cast<int>(*whole_number(rate));
}

/// `--older-than`, `--newer-than` and `--header`, as they are typed.
struct AgeAndHeaders {
    std::string& older_than;
    std::string& newer_than;
    std::vector<std::string>& headers;
};

/// `since`: what ages count from: "Parked".
inline void add_age_and_headers(CLI::App& command, const std::string& since, const AgeAndHeaders& into) {
    add_text(command, "--older-than", into.older_than, since + " at least that long ago: 30m, 2h, 1d", "DURATION",
             check_duration);
    add_text(command, "--newer-than", into.newer_than, since + " at most that long ago", "DURATION", check_duration);
    command
        .add_option("--header", into.headers, "With this header; the value may be a glob. Several times: all of them")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check(CLI::Validator(check_header, "", ""));
}

/// Puts into `options` what was typed.
template <typename Options>
void put_age_and_headers(const std::string& older_than, const std::string& newer_than,
                         const std::vector<std::string>& headers, Options& options) {
    options.headers = matches_of(headers);
    if (!older_than.empty()) options.older_than = core::parse_duration(older_than);
    if (!newer_than.empty()) options.newer_than = core::parse_duration(newer_than);
}

}  // namespace retryd::commands
