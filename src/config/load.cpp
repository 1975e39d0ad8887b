#include "config/load.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "config/keys.h"
#include "config/problem.h"
#include "config/reader.h"
#include "config/tree.h"
#include "config/validate.h"

namespace retryd::config {

namespace {

constexpr std::string_view name_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

bool is_name(std::string_view text) {
    return !text.empty() && text.find_first_not_of(name_characters) == std::string_view::npos &&
           (text.front() < '0' || text.front() > '9');
}

/// Appends what stands between `${` and `}`.
void append_value(std::string_view inside, const Environment& environment, Expansion& to) {
    const std::size_t split = inside.find(":-");
    const std::string name{inside.substr(0, split)};
    if (!is_name(name)) {
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

namespace {

/// In the order of the file; what was found along two ways is told once.
Problems in_order(Problems problems) {
    const auto place = [](const Problem& p) { return std::tie(p.line, p.column, p.key, p.message); };
    std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    const auto rest = std::unique(problems.begin(), problems.end(),
                                  [&](const Problem& a, const Problem& b) { return place(a) == place(b); });
    problems.erase(rest, problems.end());
    return problems;
}

}  // namespace

std::variant<Settings, Problems> load(const std::string& text, const FileEnvironment& env) {
    Problems problems;
    const Tree tree = parse_tree(text, problems);
    if (!tree.readable) return in_order(std::move(problems));

    RawConfig written;
    Reader reader{tree.root, {}, env.environment, problems};
    describe(reader, written);
    reader.refuse_the_rest();

    Settings& settings = written.settings;
    validate_broker(written, env, settings.broker, problems);
    settings.management = validate_management(written.management, env, settings.broker, problems);
    validate_policy(written, settings.policy, problems);
    if (!problems.empty()) return in_order(std::move(problems));
    return std::move(settings);
}

std::variant<Settings, Problems> load_file(const std::string& path, const FileEnvironment& env) {
    std::string error;
    const auto text = env.read_file(path, error);
    if (!text) return Problems{{0, 0, "", "cannot be read (" + error + "); expected a file that retryd may read"}};
    return load(*text, env);
}

// The one place of config that touches the machine.

namespace {

/// No configuration, password or certificate is larger.
constexpr std::size_t largest_file = std::size_t{4} * 1024 * 1024;

std::optional<std::string> environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
}

std::string last_error() {
    return std::error_code{errno, std::generic_category()}.message();
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
    std::string contents(largest_file + 1, '\0');
    if (file) file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!file.is_open() || file.bad()) {
        error = last_error();
        return std::nullopt;
    }
    contents.resize(static_cast<std::size_t>(file.gcount()));
    if (contents.size() > largest_file) {
        error = "it is larger than 4 MiB";
        return std::nullopt;
    }
    return contents;
}

}  // namespace

FileEnvironment process_environment() {
    return {environment, read_file};
}

void exclude(const Place& one, const Place& other, Problems& problems) {
    add(problems, one,
        "is given besides " + other.path + " on line " + std::to_string(other.at.line) + "; expected one of the two");
}

std::optional<std::string> read_named_file(const Given<std::string>& file, const FileEnvironment& env,
                                           Problems& problems) {
    std::string error;
    auto contents = env.read_file(file.value, error);
    if (!contents) {
        add(problems, file.place,
            "the file " + shown(file) + " cannot be read (" + error + "); expected one that retryd may read");
    }
    return contents;
}

std::optional<std::string> read_password(const Given<std::string>& password, const Given<std::string>& file,
                                         const FileEnvironment& env, Problems& problems) {
    if (password.given && file.given) exclude(file.place, password.place, problems);
    if (password.given) return password.value;
    if (!file.given) return std::nullopt;
    auto contents = read_named_file(file, env, problems);
    if (!contents) return "";
    if (contents->ends_with('\n')) contents->pop_back();
    if (contents->ends_with('\r')) contents->pop_back();
    if (contents->empty()) {
        add(problems, file.place, "the file " + shown(file) + " is empty; expected the password in it");
    }
    return contents;
}

}  // namespace retryd::config
