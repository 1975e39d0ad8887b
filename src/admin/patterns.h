// Regular expressions of a policy for queues that retryd knows by name or glob.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/policy.h"

namespace retryd::admin {

/// As part of a regular expression: this name and no other.
std::string pattern_of_name(std::string_view name);
/// What the glob matches. The broker compares bytes, as the globs of the configuration do.
std::string pattern_of_glob(std::string_view glob);

/// For these names alone: `^(email|sms)$`.
std::string names_pattern(const std::vector<std::string>& names);

/// A pattern of that form with more names in it; empty where `pattern` has another form.
std::string extended_pattern(const std::string& pattern, const std::vector<std::string>& names);

/// Whether a pattern of this file has that name among its alternatives.
bool names_in_pattern(const std::string& pattern, const std::string& name);

/// For these names and globs, not for the excluded ones, and for none of the queues that are retryd's own under that
/// policy or, by their name, the broker's.
std::string matches_pattern(const core::Policy& policy, const std::vector<std::string>& matches,
                            const std::vector<std::string>& excluded = {});

/// For all queues that are retryd's own under that policy, also those to come, but for the excluded ones: somebody
/// else's that are called as a rung of a glob would be. And for more that are there, in the end: the names of some
/// cannot be known before they are.
std::string own_queues_pattern(const core::Policy& policy, const std::vector<std::string>& excluded = {},
                               const std::vector<std::string>& more = {});

}  // namespace retryd::admin
