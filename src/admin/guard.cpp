#include "admin/guard.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "admin/broker_pattern.h"
#include "admin/harm.h"
#include "admin/own_policies.h"
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

class GuardPlanner {
  public:
    GuardPlanner(const core::Policy& policy, const VhostPolicies& vhost_policies)
        : policy_(policy),
          vhost_policies_(vhost_policies),
          effective_(vhost_policies),
          general_{guard_name(policy), "", "queues", nothing_new, guard_priority} {
        std::vector<BrokerPattern> by_configuration;
        for (const std::string& pattern : own_queues_patterns(policy))
            by_configuration.emplace_back(pattern, BrokerPattern::as_many_steps_as_the_broker);
        std::vector<std::string> others;
        for (const QueuePolicies& queue : vhost_policies.queues) {
            const bool caught =
                std::any_of(by_configuration.begin(), by_configuration.end(),
                            [&](const BrokerPattern& pattern) { return pattern.matches(queue.name) == true; });
            if (is_retryds(policy, queue)) {
                own_.push_back(&queue);
                if (!caught) more_.push_back(queue.name);
            } else if (caught) {
                others.push_back(queue.name);
            }
        }
        std::sort(others.begin(), others.end());
        std::sort(more_.begin(), more_.end());
        patterns_ = own_queues_patterns(policy, others, more_);
        without_more_ = own_queues_patterns(policy, others);
        for (const BrokerPolicy& other : vhost_policies.policies) {
            const std::int64_t above = priority_above(other.priority);
            if (above > general_.priority && concerns_us(other)) general_.priority = above;
        }
    }

    std::vector<PolicyChange> plan() {
        if (own_.empty()) return {};
        if (const BrokerPolicy* before = effective_.policy(general_.name)) {
            general_.priority = std::max(general_.priority, before->priority);
            if (covers_all(before->pattern)) patterns_ = {before->pattern};
        }
        for (const QueuePolicies* queue : own_)
            keep_what_is_said_to(*queue);
        // They come first: what they keep is in effect all the time.
        for (const auto& [copied, queues] : copies_) {
            for (const std::vector<std::string>& part : names_in_parts(queues))
                plan_copy(copied.first, copied.second, part);
        }
        for (PolicyChange& change : changed_parts(general_, nothing_new, patterns_, vhost_policies_)) {
            change.notes.emplace_back(
                "guards retryd's own queues: no policy of a lower priority takes effect on them, whatever its pattern. "
                "It sets what they are declared with; an operator policy is not kept away by it");
            changes_.push_back(std::move(change));
        }
        for (PolicyChange& change : renewed_copies(policy_, vhost_policies_, true))
            changes_.push_back(std::move(change));
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
        const BrokerPattern pattern(other.pattern);
        return std::any_of(own_.begin(), own_.end(), [&](const QueuePolicies* queue) {
            return !is_guard(other, *queue) && pattern.matches(queue->name).value_or(true);
        });
    }

    /// Whether the pattern of an earlier guard is for all that is there now: also where it has names of queues that are
    /// gone.
    bool covers_all(const std::string& pattern) const {
        if (without_more_.size() > 1) return false;
        const std::string_view whole = without_more_.front();
        const std::string_view unclosed = whole.substr(0, whole.rfind(')'));
        if (!pattern.starts_with(unclosed)) return false;
        const std::string_view rest = std::string_view{pattern}.substr(unclosed.size());
        return (rest.starts_with('|') || rest.starts_with(')')) &&
               std::all_of(more_.begin(), more_.end(),
                           [&](const std::string& name) { return names_in_pattern(pattern, name); });
    }

    void keep_what_is_said_to(const QueuePolicies& queue) {
        const BrokerPolicy* now = effective_.policy(queue.policy);
        if (now == nullptr || is_called_like_part(now->name, general_.name) || is_guard(*now, queue)) return;
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
    const VhostPolicies& vhost_policies_;
    EffectivePolicy effective_;
    BrokerPolicy general_;
    std::vector<const QueuePolicies*> own_;
    std::vector<std::string> more_;      // of these, the names that no pattern could be made for before they were there
    std::vector<std::string> patterns_;  // of the guard
    std::vector<std::string> without_more_;
    /// The queues, by the policy that is in effect on them and what of it stays.
    std::map<std::pair<std::string, core::Definition>, std::vector<std::string>> copies_;
    std::vector<std::string> names_;  // of the copies
    std::vector<PolicyChange> changes_;
};

}  // namespace

std::string guard_name(const core::Policy& policy) {
    return general_policy_name(policy) + "-guard";
}

std::vector<BrokerPolicy> general_guards(const core::Policy& policy) {
    return in_parts({guard_name(policy), "", "queues", nothing_new, guard_priority}, own_queues_patterns(policy));
}

std::vector<PolicyChange> plan_guard(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    if (!features_of(vhost_policies.version).quorum_ttl) return {};
    return GuardPlanner(policy, vhost_policies).plan();
}

std::vector<std::string> unguarded_queues(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    std::vector<std::string> names;
    if (!features_of(vhost_policies.version).quorum_ttl) return names;
    const EffectivePolicy effective(vhost_policies);
    for (const QueuePolicies& queue : vhost_policies.queues) {
        // A stream takes no policy that says what happens to an overflow.
        if (queue.type == "stream" || !is_retryds(policy, queue)) continue;
        const BrokerPolicy* const now = effective.policy(queue.policy);
        const bool guarded = now != nullptr && now->priority >= guard_priority &&
                             harm_of(now->definition, queue, policy.error_queue).settings.empty();
        if (!guarded) names.push_back(queue.name);
    }
    return names;
}

}  // namespace retryd::admin
