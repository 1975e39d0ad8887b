// Regular expressions of a policy for queues that retryd knows by name or glob.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy.h"

namespace retryd::admin {

/// As part of a regular expression: this name and no other.
std::string pattern_of_name(std::string_view name);
/// What the glob matches. The broker compares bytes, as the globs of the configuration do.
std::string pattern_of_glob(std::string_view glob);

/// RabbitMQ 4.3 takes no longer one, in bytes (3.10 and 4.0 do).
inline constexpr std::size_t longest_pattern = 1'024;

/// For these names alone: `^(email|sms)$`.
std::string names_pattern(const std::vector<std::string>& names);
/// The names in parts, such that the pattern of each is short enough.
std::vector<std::vector<std::string>> names_in_parts(const std::vector<std::string>& names);

/// A pattern of that form with more names in it; empty where `pattern` has another form.
std::string extended_pattern(const std::string& pattern, const std::vector<std::string>& names);

/// Whether it is one for names alone.
bool is_names_pattern(const std::string& pattern);
/// Such a pattern without these names; empty where it has no others.
std::string reduced_pattern(const std::string& pattern, const std::vector<std::string>& names);

/// Whether a pattern of this file has that name among its alternatives.
bool names_in_pattern(const std::string& pattern, const std::string& name);

/// One pattern, or several where it would be too long: for these names and globs, not for the excluded ones, and for
/// none of the queues that are retryd's own under that policy or, by their name, the broker's or a framework's
/// plumbing, and none whose failures come by a source alone.
std::vector<std::string> matches_patterns(const core::Policy& policy, const std::vector<std::string>& matches,
                                          const std::vector<std::string>& excluded = {});

/// The names that such a pattern excludes one by one.
std::vector<std::string> excluded_names(const std::string& pattern);

/// As matches_patterns, for all queues that are retryd's own under that policy, also those to come, but for the
/// excluded ones: foreign queues with the name that a rung of a glob would have. And for more that are there, in the
/// end: the names of some cannot be known before they are.
std::vector<std::string> own_queues_patterns(const core::Policy& policy, const std::vector<std::string>& excluded = {},
                                             const std::vector<std::string>& more = {});

}  // namespace retryd::admin
