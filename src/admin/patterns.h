// Regular expressions of policies: those that retryd writes for queues that it knows by name or glob, and which names
// one matches, whoever has written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy.h"

namespace retryd::admin {

/// A part of a regular expression that matches this name alone.
std::string pattern_of_name(std::string_view name);
/// A part that matches what the glob matches. The broker compares bytes, as the globs of the configuration do.
std::string pattern_of_glob(std::string_view glob);

/// The longest pattern that RabbitMQ 4.3 accepts, in bytes (3.10 and 4.0 accept longer ones).
inline constexpr std::size_t longest_pattern = 1'024;

/// Matches these names alone: `^(email|sms)$`.
std::string names_pattern(const std::vector<std::string>& names);
/// Splits the names into parts whose patterns are short enough.
std::vector<std::vector<std::string>> names_in_parts(const std::vector<std::string>& names);

/// The pattern with more names added; empty if `pattern` does not have that form.
std::string extended_pattern(const std::string& pattern, const std::vector<std::string>& names);

/// Whether it has the form of names_pattern.
bool is_names_pattern(const std::string& pattern);
/// The pattern without these names; empty if no others are left.
std::string reduced_pattern(const std::string& pattern, const std::vector<std::string>& names);

/// Whether a pattern made here has that name among its alternatives.
bool names_in_pattern(const std::string& pattern, const std::string& name);

/// One pattern, or several if it would be too long. Matches these names and globs, but not the excluded names, retryd's
/// own queues under that policy, queues with the names of a framework's or the broker's plumbing, and queues whose
/// failures come by a source alone.
std::vector<std::string> matches_patterns(const core::Policy& policy, const std::vector<std::string>& matches,
                                          const std::vector<std::string>& excluded = {});

/// The names that such a pattern excludes individually.
std::vector<std::string> excluded_names(const std::string& pattern);

/// As matches_patterns, for all of retryd's own queues under that policy, also future ones. `excluded`: foreign queues
/// that are named like a rung of a glob. `more`: existing queues whose names cannot be predicted; they come last.
std::vector<std::string> own_queues_patterns(const core::Policy& policy, const std::vector<std::string>& excluded = {},
                                             const std::vector<std::string>& more = {});

/// A regular expression from a policy or a permission of the broker: anyone who may set one may have written it.
///
/// Matches as RabbitMQ does with PCRE: byte by byte, anywhere in the name. It never takes long: RabbitMQ gives up on a
/// pattern that backtracks too much, and this class gives up earlier.
class BrokerPattern {
  public:
    /// A few milliseconds.
    static constexpr std::uint32_t few_steps = 100'000;
    /// For patterns that retryd wrote.
    static constexpr std::uint32_t as_many_steps_as_the_broker = 10'000'000;

    explicit BrokerPattern(const std::string& pattern, std::uint32_t most_steps = few_steps);
    ~BrokerPattern();
    BrokerPattern(BrokerPattern&&) noexcept;
    BrokerPattern& operator=(BrokerPattern&&) noexcept;

    bool readable() const { return compiled_ != nullptr; }
    /// Nothing if unknown: the pattern is not valid, or took too many steps, for this name or an earlier one.
    std::optional<bool> matches(std::string_view name) const;

  private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace retryd::admin
