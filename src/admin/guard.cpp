#include "admin/guard.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "admin/harm.h"
#include "admin/patterns.h"
#include "core/names.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

/// Above what people give to theirs.
constexpr std::int64_t guard_priority = 1000;

/// What a policy sets that is to do nothing: a policy has to set something. The queues are declared with the same
/// value, and where it matters, in a quorum queue, the policy wins over the argument.
const core::Definition nothing_new{{"overflow", "\"reject-publish\""}};

constexpr std::string_view special = R"(\.+*?()[]{}|^$)";

/// The letters that a regular expression begins with, up to what is none; how far they go is in `end`.
std::string letters_of(std::string_view pattern, std::size_t& end) {
    std::string letters;
    for (end = 0; end < pattern.size(); ++end) {
        const bool escaped = pattern[end] == '\\' && end + 1 < pattern.size() &&
                             special.find(pattern[end + 1]) != std::string_view::npos;
        if (!escaped && special.find(pattern[end]) != std::string_view::npos) break;
        end += escaped ? 1 : 0;
        letters += pattern[end];
    }
    return letters;
}

/// Of a pattern for names alone, as names_pattern makes it: whether it is for that one. Nothing of any other pattern.
std::optional<bool> is_among(std::string_view pattern, const std::string& name) {
    constexpr std::string_view opening = "^(";
    constexpr std::string_view closing = ")$";
    if (!pattern.starts_with(opening) || !pattern.ends_with(closing)) return std::nullopt;
    pattern = pattern.substr(opening.size(), pattern.size() - opening.size() - closing.size());
    bool among = false;
    for (;;) {
        std::size_t end = 0;
        among = letters_of(pattern, end) == name || among;
        if (end == pattern.size()) return among;
        if (pattern[end] != '|') return std::nullopt;
        pattern.remove_prefix(end + 1);
    }
}

/// Whether it may match. Not by the regular expression itself: one that somebody else wrote may take for ever. Told
/// apart are patterns for names, and those that begin with other letters.
bool may_match(const std::string& pattern, const std::string& name) {
    if (const auto among = is_among(pattern, name)) return *among;
    if (!pattern.starts_with('^') || pattern.find('|') != std::string::npos) return true;
    const std::string_view rest = std::string_view{pattern}.substr(1);
    std::size_t end = 0;
    std::string letters = letters_of(rest, end);
    const bool last_may_be_none =
        end < rest.size() && std::string_view{"*?{"}.find(rest[end]) != std::string_view::npos;
    if (last_may_be_none && !letters.empty()) letters.pop_back();
    return name.starts_with(letters);
}

/// Whether the pattern for retryd's own queues would match the name, which is not one of them.
bool is_caught(const core::Policy& policy, std::string_view name) {
    const std::size_t at = name.rfind(".retry.");
    const bool held = name.ends_with(core::held_suffix);
    return std::any_of(policy.entries.begin(), policy.entries.end(), [&](const core::Entry& entry) {
        if (at != std::string_view::npos) return core::glob_matches(entry.match, name.substr(0, at));
        if (held && core::may_hold(entry))
            return core::glob_matches(entry.match, name.substr(0, name.size() - core::held_suffix.size()));
        return entry.ladder.return_path == core::ReturnPath::headers &&
               name.starts_with("retryd." + entry.ladder.name + '.');
    });
}

class GuardPlanner {
  public:
    GuardPlanner(const core::Policy& policy, const VhostPolicies& vhost_policies)
        : policy_(policy), effective_(vhost_policies), general_(general_guard(policy)) {
        std::vector<std::string> others;
        for (const QueuePolicies& queue : vhost_policies.queues) {
            if (is_retryds(policy, queue)) {
                own_.push_back(&queue);
            } else if (is_own_queue(policy, queue.name) && is_caught(policy, queue.name)) {
                others.push_back(queue.name);
            }
        }
        std::sort(others.begin(), others.end());
        general_.pattern = own_queues_pattern(policy, others);
        for (const BrokerPolicy& other : vhost_policies.policies) {
            if (concerns_us(other)) general_.priority = std::max(general_.priority, priority_above(other.priority));
        }
    }

    std::vector<PolicyChange> plan() {
        if (own_.empty()) return {};
        if (const BrokerPolicy* before = effective_.policy(general_.name))
            general_.priority = std::max(general_.priority, before->priority);
        for (const QueuePolicies* queue : own_)
            keep_what_is_said_to(*queue);
        // They come first: what they keep is in effect all the time.
        for (const auto& [copied, queues] : copies_)
            plan_copy(copied.first, copied.second, queues);
        plan_general();
        return std::move(changes_);
    }

  private:
    /// Another retryd of this vhost has a guard as well, for the queues that both use.
    bool is_guard(const BrokerPolicy& policy, const QueuePolicies& queue) const {
        const auto overflow = policy.definition.find("overflow");
        return policy.priority >= guard_priority && overflow != policy.definition.end() &&
               overflow->second == nothing_new.at("overflow") &&
               harm_of(policy.definition, queue, policy_.error_queue).settings.empty();
    }

    bool concerns_us(const BrokerPolicy& other) const {
        if (other.apply_to == "exchanges") return false;
        return std::any_of(own_.begin(), own_.end(), [&](const QueuePolicies* queue) {
            return !is_guard(other, *queue) && may_match(other.pattern, queue->name);
        });
    }

    void plan_general() {
        const BrokerPolicy* before = effective_.policy(general_.name);
        if (before != nullptr && *before == general_) return;
        PolicyChange change{general_, {}, "", {}, {}, {}};
        if (before != nullptr) {
            change.before = *before;
            change.in_effect = before->name;
            change.definition_now = before->definition;
        }
        change.notes.push_back(
            "guards retryd's own queues: no policy of a lower priority takes effect on them, whatever its pattern. It "
            "sets "
            "what they are declared with; an operator policy is not kept away by it");
        changes_.push_back(std::move(change));
    }

    void keep_what_is_said_to(const QueuePolicies& queue) {
        const BrokerPolicy* now = effective_.policy(queue.policy);
        if (now == nullptr || now->name == general_.name || is_guard(*now, queue)) return;
        core::Definition rest = harm_of(now->definition, queue, policy_.error_queue).rest;
        rest["overflow"] = nothing_new.at("overflow");
        if (rest != nothing_new) copies_[{now->name, rest}].push_back(queue.name);
    }

    void plan_copy(const std::string& from, const core::Definition& definition,
                   const std::vector<std::string>& queues) {
        PolicyChange change{{free_name(general_.name + '-' + from), names_pattern(queues), "queues", definition,
                             priority_above(general_.priority)},
                            {},
                            from,
                            effective_.policy(from)->definition,
                            {},
                            {}};
        change.notes.push_back("what policy " + core::quoted(from) +
                               " says to these queues of retryd's own, without what would harm them");
        names_.push_back(change.after.name);
        changes_.push_back(std::move(change));
    }

    std::string free_name(const std::string& wanted) const {
        std::string name = wanted;
        const auto taken = [&] {
            return effective_.policy(name) != nullptr || std::find(names_.begin(), names_.end(), name) != names_.end();
        };
        for (int number = 2; taken(); ++number)
            name = wanted + '-' + std::to_string(number);
        return name;
    }

    const core::Policy& policy_;
    EffectivePolicy effective_;
    BrokerPolicy general_;
    std::vector<const QueuePolicies*> own_;
    /// The queues, by the policy that is in effect on them and what of it stays.
    std::map<std::pair<std::string, core::Definition>, std::vector<std::string>> copies_;
    std::vector<std::string> names_;  // of the copies
    std::vector<PolicyChange> changes_;
};

}  // namespace

BrokerPolicy general_guard(const core::Policy& policy) {
    return {general_policy_name(policy) + "-guard", own_queues_pattern(policy), "queues", nothing_new, guard_priority};
}

std::vector<PolicyChange> plan_guard(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    if (!features_of(vhost_policies.version).quorum_ttl) return {};
    return GuardPlanner(policy, vhost_policies).plan();
}

}  // namespace retryd::admin
