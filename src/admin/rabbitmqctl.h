// Commands of rabbitmqctl, to be pasted into a shell whatever is in a name.
#pragma once

#include <string>
#include <string_view>

#include "admin/effective_policy.h"
#include "admin/permissions.h"

namespace retryd::admin {

/// As one word of a shell command: in '…', or in $'…' where something in it is unsafe (core/safe_text.h).
/// Where the shell knows only '…', the word is another one, and still a single one.
std::string shell_word(std::string_view text);
/// The same, as people type it where nothing in it means anything to a shell.
std::string word_as_typed(std::string_view text);

/// ` --vhost 'shop'`; empty for the vhost /, which rabbitmqctl takes by itself.
std::string vhost_option(std::string_view vhost);

std::string set_policy_command(const BrokerPolicy& policy, std::string_view vhost);
std::string set_permissions_command(std::string_view user, const Permissions& permissions, std::string_view vhost);
/// It takes any other tags away.
std::string set_user_tags_command(std::string_view user, std::string_view tag);
std::string clear_policy_command(std::string_view name, std::string_view vhost);

}  // namespace retryd::admin
