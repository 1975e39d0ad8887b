#include "config/environment.h"

#include <string_view>

#include "config/problem.h"

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

}  // namespace retryd::config
