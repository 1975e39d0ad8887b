#include "admin/own_policies.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "admin/dead_letter_path.h"
#include "admin/effective_policy.h"
#include "admin/guard.h"
#include "admin/patterns.h"
#include "core/safe_text.h"

namespace retryd::admin {

core::Definition merged(core::Definition definition, const core::Definition& keys) {
    for (const auto& [key, value] : keys)
        definition[key] = value;
    return definition;
}

bool has_all(const core::Definition& definition, const core::Definition& keys) {
    return merged(definition, keys) == definition;
}

// The error exchange is part of the name: there may be several retryd in a vhost.
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

// ── Copies ──

namespace {

constexpr const char* exchange_key = "dead-letter-exchange";
constexpr const char* strategy_key = "dead-letter-strategy";
constexpr const char* overflow_key = "overflow";
constexpr std::string_view for_no_policy = "queues";

/// The name of the original policy at the end of a copy's name, without the number that free_name() adds.
std::string_view without_number(std::string_view name) {
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash + 1 == name.size()) return name;
    const bool number = name.find_first_not_of("0123456789", dash + 1) == std::string_view::npos;
    return number ? name.substr(0, dash) : name;
}

class CopyFinder {
  public:
    CopyFinder(const core::Policy& policy, const VhostPolicies& vhost_policies)
        : policy_(policy),
          vhost_policies_(vhost_policies),
          effective_(vhost_policies),
          general_(general_policy_name(policy)),
          guard_(guard_name(policy)) {}

    std::vector<OutdatedCopy> find() const {
        std::vector<OutdatedCopy> found;
        for (const BrokerPolicy& each : vhost_policies_.policies) {
            if (auto copy = outdated(each)) found.push_back(std::move(*copy));
        }
        return found;
    }

  private:
    std::optional<OutdatedCopy> outdated(const BrokerPolicy& copy) const {
        const auto name = name_of_original(copy);
        if (!name) return std::nullopt;
        OutdatedCopy found{copy, *name, false, {}, {}, copy.name.starts_with(guard_ + '-')};
        for (const QueuePolicies& queue : vhost_policies_.queues) {
            if (queue.policy == copy.name) found.queues.push_back(queue.name);
        }
        if (found.queues.empty()) return std::nullopt;
        const BrokerPolicy* const original = effective_.policy(found.original);
        found.original_applies = original != nullptr && may_apply(*original, found.queues);
        found.renewed = added(copy, found.of_guard);
        if (found.original_applies) found.renewed.merge(says(*original, found));
        if (found.renewed == copy.definition) return std::nullopt;
        return found;
    }

    /// Nothing if it is not a copy of ours.
    std::optional<std::string> name_of_original(const BrokerPolicy& copy) const {
        const bool for_names = copy.pattern.starts_with("^(") && !copy.pattern.starts_with("^(?!");
        if (!for_names || copy.name == guard_) return std::nullopt;
        if (copy.name.starts_with(guard_ + '-')) return original_in(copy.name.substr(guard_.size() + 1));
        if (!copy.name.starts_with(general_ + '-') || !attaches(copy)) return std::nullopt;
        const std::string rest = copy.name.substr(general_.size() + 1);
        if (without_number(rest) == for_no_policy) return std::nullopt;
        return original_in(rest);
    }

    std::string original_in(const std::string& rest) const {
        const std::string_view unescaped = std::string_view{rest}.substr(rest.starts_with('-') ? 1 : 0);
        for (const std::string_view each :
             {std::string_view{rest}, unescaped, without_number(rest), without_number(unescaped)}) {
            if (effective_.policy(each) != nullptr) return std::string{each};
        }
        return std::string{unescaped};
    }

    /// Whether it is a copy for work queues. The name alone does not tell: another retryd's general policy may begin
    /// the same way.
    bool attaches(const BrokerPolicy& copy) const {
        const auto exchange = copy.definition.find(exchange_key);
        return exchange != copy.definition.end() ? leads_to_error_queue(policy_, exchange->second)
                                                 : copy.definition.contains(strategy_key);
    }

    static bool may_apply(const BrokerPolicy& original, const std::vector<std::string>& queues) {
        if (original.apply_to == "exchanges") return false;
        const BrokerPattern pattern(original.pattern);
        return std::any_of(queues.begin(), queues.end(),
                           [&](const std::string& queue) { return pattern.matches(queue).value_or(true); });
    }

    /// The keys that were added to those of the original.
    static core::Definition added(const BrokerPolicy& copy, bool of_guard) {
        core::Definition keys = copy.definition;
        const bool overflow = of_guard || keys.contains(strategy_key);
        std::erase_if(keys, [&](const auto& setting) {
            const bool ours = setting.first == overflow_key
                                  ? overflow
                                  : !of_guard && (setting.first == exchange_key || setting.first == strategy_key);
            return !ours;
        });
        return keys;
    }

    core::Definition says(const BrokerPolicy& original, const OutdatedCopy& copy) const {
        if (!copy.of_guard) return original.definition;
        const auto queue = std::find_if(vhost_policies_.queues.begin(), vhost_policies_.queues.end(),
                                        [&](const QueuePolicies& each) { return each.name == copy.queues.front(); });
        return harm_of(original.definition, *queue, policy_.error_queue).rest;
    }

    const core::Policy& policy_;
    const VhostPolicies& vhost_policies_;
    EffectivePolicy effective_;
    std::string general_;
    std::string guard_;
};

}  // namespace

std::string copy_name(const std::string& general, const std::string& original) {
    const bool is_taken =
        without_number(original) == for_no_policy || original == "guard" || original.starts_with("guard-");
    return general + (is_taken ? "--" : "-") + original;
}

std::string difference(const OutdatedCopy& outdated) {
    core::Definition all = outdated.copy.definition;
    all.insert(outdated.renewed.begin(), outdated.renewed.end());
    std::string text;
    const auto value_in = [](const core::Definition& definition, const std::string& key) {
        const auto found = definition.find(key);
        return found == definition.end() ? std::string{"not set"} : found->second;
    };
    for (const auto& [key, value] : all) {
        const std::string here = value_in(outdated.copy.definition, key);
        const std::string now = value_in(outdated.renewed, key);
        if (here != now) text.append(text.empty() ? "" : ", ").append(key + " is " + here + " and would be " + now);
    }
    return text;
}

std::vector<OutdatedCopy> outdated_copies(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    return CopyFinder(policy, vhost_policies).find();
}

std::vector<PolicyChange> renewed_copies(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                         bool of_guard) {
    std::vector<PolicyChange> changes;
    for (const OutdatedCopy& outdated : outdated_copies(policy, vhost_policies)) {
        if (outdated.of_guard != of_guard) continue;
        const BrokerPolicy& copy = outdated.copy;
        PolicyChange change{copy, copy, copy.name, copy.definition, {}, {}};
        change.after.definition = outdated.renewed;
        change.notes.push_back("a copy of policy " + core::quoted(outdated.original) +
                               (outdated.original_applies
                                    ? " as it was; it becomes what that one says now"
                                    : ", which is gone or no longer for these queues; nothing of it stays in effect"));
        changes.push_back(std::move(change));
    }
    return changes;
}

}  // namespace retryd::admin
