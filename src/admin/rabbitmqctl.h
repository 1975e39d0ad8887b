// rabbitmqctl commands that are safe to paste into a shell, whatever characters a name contains.
#pragma once

#include <string>
#include <string_view>

#include "admin/effective_policy.h"
#include "admin/permissions.h"

namespace retryd::admin {

/// One word of a shell command: in '…', or in $'…' if it has unsafe characters (core/safe_text.h). A shell that does
/// not know $'…' gets a different word, but still a single one.
std::string shell_word(std::string_view text);
/// The same, but without quotes if nothing in it is special to a shell.
std::string word_as_typed(std::string_view text);

/// ` --vhost 'shop'`; empty for the vhost /, rabbitmqctl's default.
std::string vhost_option(std::string_view vhost);

std::string set_policy_command(const BrokerPolicy& policy, std::string_view vhost);
std::string set_permissions_command(std::string_view user, const Permissions& permissions, std::string_view vhost);
/// The command removes all other tags of the user.
std::string set_user_tags_command(std::string_view user, std::string_view tag);
std::string clear_policy_command(std::string_view name, std::string_view vhost);

}  // namespace retryd::admin
