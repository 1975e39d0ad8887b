#include "admin/own_policies.h"

#include <utility>

#include "admin/effective_policy.h"
#include "admin/patterns.h"

namespace retryd::admin {

core::Definition merged(core::Definition definition, const core::Definition& keys) {
    for (const auto& [key, value] : keys)
        definition[key] = value;
    return definition;
}

bool has_all(const core::Definition& definition, const core::Definition& keys) {
    return merged(definition, keys) == definition;
}

// Told apart by the error exchange: a vhost may have several retryd.
std::string general_policy_name(const core::Policy& policy) {
    return (policy.error_exchange.starts_with("retryd") ? "" : "retryd-") + policy.error_exchange;
}

core::Definition to_error_exchange(const core::Policy& policy) {
    return {{"dead-letter-exchange", core::json_string(policy.error_exchange)}};
}

std::vector<BrokerPolicy> general_policies(const core::Policy& policy) {
    std::vector<std::string> matches;
    for (const core::Entry& entry : policy.entries)
        if (entry.failures == core::FailuresBy::error_queue) matches.push_back(entry.match);
    const BrokerPolicy whole{general_policy_name(policy), "", "queues", to_error_exchange(policy), 0};
    return in_parts(whole, matches_patterns(policy, matches));
}

std::vector<BrokerPolicy> in_parts(const BrokerPolicy& whole, const std::vector<std::string>& patterns) {
    std::vector<BrokerPolicy> parts;
    for (const std::string& pattern : patterns) {
        parts.push_back(whole);
        parts.back().pattern = pattern;
        if (parts.size() > 1) parts.back().name += '.' + std::to_string(parts.size());
    }
    return parts;
}

bool is_called_like_part(std::string_view name, std::string_view whole) {
    if (!name.starts_with(whole)) return false;
    name.remove_prefix(whole.size());
    return name.empty() ||
           (name.size() > 1 && name[0] == '.' && name.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

std::vector<PolicyChange> changed_parts(const BrokerPolicy& whole, const core::Definition& ours,
                                        const std::vector<std::string>& patterns, const VhostPolicies& vhost_policies) {
    const EffectivePolicy effective(vhost_policies);
    std::vector<PolicyChange> changes;
    std::size_t part = 0;
    for (int number = 1;; ++number) {
        BrokerPolicy after = whole;
        if (number > 1) after.name += '.' + std::to_string(number);
        const BrokerPolicy* const before = effective.policy(after.name);
        if (part >= patterns.size() && before == nullptr) return changes;
        if (number > 1 && before != nullptr && !has_all(before->definition, ours)) continue;
        after.pattern = part < patterns.size() ? patterns[part++] : patterns.back();
        if (before != nullptr && *before == after) continue;
        PolicyChange change{after, {}, "", {}, {}, {}};
        if (before != nullptr) {
            change.before = *before;
            change.in_effect = before->name;
            change.definition_now = before->definition;
        }
        changes.push_back(std::move(change));
    }
}

}  // namespace retryd::admin
