#include "config/environment.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string_view>
#include <system_error>

namespace retryd::config {

namespace {

constexpr std::size_t largest_file = std::size_t{4} * 1024 * 1024;

std::optional<std::string> read_variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
}

std::optional<std::string> read_file(const std::string& path, std::string& error) {
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(path, ignored);
    const bool endless = std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status) ||
                         std::filesystem::is_block_file(status) || std::filesystem::is_socket(status);
    if (endless) {  // opening a FIFO waits for somebody who writes to it, a device may never end
        error = "it is a pipe or a device, not a file";
        return std::nullopt;
    }
    errno = 0;
    std::ifstream file{path, std::ios::binary};
    std::string contents;
    char part[16 * 1024];  // nearly all files are smaller: no command is to fill 4 MiB for them
    while (file && contents.size() <= largest_file) {
        file.read(part, sizeof part);
        contents.append(part, static_cast<std::size_t>(file.gcount()));
    }
    if (!file.is_open() || file.bad()) {
        error = std::error_code{errno, std::generic_category()}.message();
        return std::nullopt;
    }
    if (contents.size() > largest_file) {
        error = "it is larger than 4 MiB";
        return std::nullopt;
    }
    return contents;
}

bool is_variable_name(std::string_view text) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos &&
           (text.front() < '0' || text.front() > '9');
}

/// Appends the value of what stands between `${` and `}`.
void append_value(std::string_view inside, const Environment& environment, Expansion& to) {
    const std::size_t split = inside.find(":-");
    const std::string name{inside.substr(0, split)};
    if (!is_variable_name(name)) {
        to.complaint =
            "${...} holds no name of an environment variable; expected ${NAME}, ${NAME:-default}, or $${ for "
            "a literal ${";
        return;
    }
    to.used_environment = true;
    const std::optional<std::string> value = environment(name);
    if (split != std::string_view::npos && value.value_or("").empty()) {
        to.text.append(inside.substr(split + 2));
    } else if (value) {
        to.text.append(*value);
    } else {
        to.complaint = "the environment variable " + name +
                       " is not set; expected it to be set, or a default as in ${" + name + ":-default}";
    }
}

}  // namespace

FileEnvironment process_environment() {
    return {read_variable, read_file};
}

Expansion expand(const std::string& text, const Environment& environment) {
    Expansion result;
    std::string_view rest{text};
    while (!rest.empty() && result.complaint.empty()) {
        if (rest.starts_with("$${")) {
            result.text.append("${");
            rest.remove_prefix(3);
        } else if (rest.starts_with("${")) {
            const std::size_t end = rest.find('}');
            if (end == std::string_view::npos) {
                result.complaint = "${ is never closed; expected ${NAME}, or $${ for a literal ${";
                break;
            }
            append_value(rest.substr(2, end - 2), environment, result);
            rest.remove_prefix(end + 1);
        } else {
            const std::size_t next = rest.find('$', 1);
            result.text.append(rest.substr(0, next));
            rest.remove_prefix(next == std::string_view::npos ? rest.size() : next);
        }
    }
    return result;
}

}  // namespace retryd::config
