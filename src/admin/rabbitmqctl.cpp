#include "admin/rabbitmqctl.h"

#include "core/safe_text.h"

namespace retryd::admin {

namespace {

/// Names that begin with a dash must not be taken for options.
std::string end_of_options(std::string_view name, std::string_view pattern = "") {
    return name.starts_with('-') || pattern.starts_with('-') ? " --" : "";
}

std::string with_each_quote(std::string_view text, std::string_view as) {
    std::string written;
    for (const char c : text) {
        if (c == '\'') {
            written += as;
        } else {
            written += c;
        }
    }
    return written;
}

}  // namespace

std::string shell_word(std::string_view text) {
    // $'…' is understood by bash, zsh and ksh, and is POSIX since 2024. A shell that does not know it would end the
    // word at the first quote, even after a backslash, and run the rest as commands; so the word contains no quote.
    if (!core::is_safe(text)) return "$'" + with_each_quote(core::safe_name(text), "\\x27") + '\'';
    return '\'' + with_each_quote(text, "'\\''") + '\'';
}

std::string word_as_typed(std::string_view text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@%+=/,-";
    const bool bare = !text.empty() && text.front() != '-' && text.find_first_not_of(plain) == std::string_view::npos;
    return bare ? std::string{text} : shell_word(text);
}

std::string vhost_option(std::string_view vhost) {
    return vhost.empty() || vhost == "/" ? "" : " --vhost " + shell_word(vhost);
}

std::string set_policy_command(const BrokerPolicy& policy, std::string_view vhost) {
    return "rabbitmqctl set_policy" + vhost_option(vhost) + " --priority=" + std::to_string(policy.priority) +
           " --apply-to " + policy.apply_to + end_of_options(policy.name, policy.pattern) + ' ' +
           shell_word(policy.name) + ' ' + shell_word(policy.pattern) + ' ' +
           shell_word(core::json_object(policy.definition));
}

std::string set_permissions_command(std::string_view user, const Permissions& permissions, std::string_view vhost) {
    return "rabbitmqctl set_permissions" + vhost_option(vhost) + end_of_options(user) + ' ' + shell_word(user) + ' ' +
           shell_word(permissions.configure) + ' ' + shell_word(permissions.write) + ' ' + shell_word(permissions.read);
}

std::string set_user_tags_command(std::string_view user, std::string_view tag) {
    return "rabbitmqctl set_user_tags" + end_of_options(user) + ' ' + shell_word(user) + ' ' + std::string{tag};
}

std::string clear_policy_command(std::string_view name, std::string_view vhost) {
    return "rabbitmqctl clear_policy" + vhost_option(vhost) + end_of_options(name) + ' ' + shell_word(name);
}

}  // namespace retryd::admin
