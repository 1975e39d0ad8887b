#include "admin/guard.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "admin/own_policies.h"
#include "admin/patterns.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::admin {

namespace {

enum class OwnQueue { rung, detour, other };

/// A policy key that is harmful on one of retryd's own queues, and what it does there.
struct HarmfulKey {
    const char* key;
    const char* to_rung;    // null: none
    const char* to_detour;  // the same
    const char* to_other;   // error queue, catch-all and parking queues

    const char* to(OwnQueue kind) const {
        return kind == OwnQueue::rung ? to_rung : kind == OwnQueue::detour ? to_detour : to_other;
    }
};

constexpr const char* dropped_when_full =
    "when it is full, messages are thrown away, returned too early, or refused and held in the error queue";
constexpr const char* deleted_with_all =
    "the broker deletes the queue, with all that is in it, when it was not used for that long";
constexpr const char* thrown_away_when_full = "when it is full, messages are thrown away or refused";

constexpr std::array harmful_keys{
    HarmfulKey{"expires", "the broker deletes the rung, with all that waits on it, when it was not used for that long",
               deleted_with_all, deleted_with_all},
    HarmfulKey{
        "message-ttl",
        "what waits there returns to its work queue before its delay is over, where that time is the shorter one",
        "what waits there is tried again more often than it need be, where that time is the shorter one",
        "what stays there longer is thrown away, or parked by the broker as expired"},
    HarmfulKey{"max-length", dropped_when_full, dropped_when_full, thrown_away_when_full},
    HarmfulKey{"max-length-bytes", dropped_when_full, dropped_when_full, thrown_away_when_full},
    HarmfulKey{"delivery-limit", nullptr, nullptr,
               "a message that was looked at that often is thrown away, or parked by the broker"},
    HarmfulKey{
        "overflow",
        "the return to the work queue is at-most-once, and what the broker keeps for a queue that is full or gone is "
        "lost",
        "the return to the error queue is at-most-once", "its own dead-lettering is at-most-once"},
};

OwnQueue kind_of_queue(const std::string& name) {
    if (core::looks_like_detour(name)) return OwnQueue::detour;
    return core::looks_like_rung(name) || core::looks_like_shared_rung(name) ? OwnQueue::rung : OwnQueue::other;
}

/// Whether this value of the key does no harm.
bool is_harmless(const std::string& key, const std::string& value, const QueuePolicies& queue, bool error_queue) {
    if (key == "delivery-limit") {
        // That a limit is too high for the error queue is reported by check_error_queue().
        const bool high =
            error_queue ? number_of(value).value_or(0) >= core::error_delivery_limit : is_high_limit(value);
        return high || value.starts_with('-') || queue.type != "quorum";
    }
    // On a classic queue the argument beats the policy, and the default drops nothing if nothing is limited.
    if (key == "overflow") return value == "\"reject-publish\"" || queue.type != "quorum";
    return false;
}

/// Whether retryd certainly made this rung, which no entry uses any more. Other applications may have queues with such
/// names that also dead-letter back to a work queue, as a classic rung does; but not through retryd's exchange, and not
/// with all the arguments of a quorum rung.
bool is_beyond_doubt(const core::ParsedRung& rung, const QueuePolicies& queue) {
    return rung.return_path == core::ReturnPath::headers ||
           (argument(queue, "dead-letter-strategy") == "\"at-least-once\"" &&
            argument(queue, "overflow") == "\"reject-publish\"");
}

/// Whether it is named like the parking queue of a work queue with a long name that a glob matches: the name is
/// shortened, so it cannot be compared with the glob.
bool is_shortened_parking(const core::Entry& entry, std::string_view name) {
    constexpr std::size_t hash = 17;                                        // ~3b5ad17216035bad
    constexpr std::size_t shortest_of_them = core::longest_queue_name - 3;  // no character is cut in two
    const std::string_view pattern = entry.parked.queue;
    const std::size_t at = pattern.find(core::queue_placeholder);
    if (at == std::string_view::npos || !core::is_glob(entry.match) || name.size() < shortest_of_them) return false;
    const std::string_view after = pattern.substr(at + core::queue_placeholder.size());
    if (!name.starts_with(pattern.substr(0, at)) || !name.ends_with(after)) return false;
    name.remove_prefix(at);
    name.remove_suffix(after.size());
    if (name.size() <= hash || name[name.size() - hash] != '~') return false;
    if (name.find_first_not_of("0123456789abcdef", name.size() - hash + 1) != std::string_view::npos) return false;
    return name.starts_with(std::string_view{entry.match}.substr(0, entry.match.find_first_of("*?")));
}

}  // namespace

bool is_retryds(const core::Policy& policy, const QueuePolicies& queue) {
    const std::string& name = queue.name;
    if (name == policy.error_queue || core::is_parking_queue(policy, name) || core::is_detour(name)) return true;
    if (core::work_queue_held_in(policy, name, queue.arguments)) return true;
    const auto rung = core::parse_rung(name, queue.arguments);
    if (!rung) {
        return std::any_of(policy.entries.begin(), policy.entries.end(),
                           [&](const core::Entry& entry) { return is_shortened_parking(entry, name); });
    }
    return is_beyond_doubt(*rung, queue) ||
           std::any_of(policy.entries.begin(), policy.entries.end(),
                       [&](const core::Entry& entry) { return core::glob_matches(entry.match, rung->serves); });
}

Harm harm_of(const core::Definition& definition, const QueuePolicies& queue, const std::string& error_queue) {
    Harm harm{"", "", definition};
    for (const HarmfulKey& harmful : harmful_keys) {
        const char* does = harmful.to(kind_of_queue(queue.name));
        const auto set = definition.find(harmful.key);
        if (does == nullptr || set == definition.end()) continue;
        if (is_harmless(harmful.key, set->second, queue, queue.name == error_queue)) continue;
        harm.settings.append(harm.settings.empty() ? "" : ", ").append(set->first + ' ' + set->second);
        harm.consequence.append(harm.consequence.empty() ? "" : "; ").append(does);
        harm.rest.erase(harmful.key);
    }
    return harm;
}

namespace {

/// Higher than the priorities that people usually choose.
constexpr std::int64_t guard_priority = 1000;

/// The definition of a policy that should change nothing, since RabbitMQ accepts no empty one. The queues are declared
/// with the same value, and on a quorum queue the policy beats the argument anyway.
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
        // Copies are set first, so that what they preserve is in effect all the time.
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
    /// Another retryd in this vhost has its own guard, which also covers the queues that both use.
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

    /// Whether the pattern of an existing guard covers all queues that exist now; it may also have names of queues that
    /// are gone.
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
    std::vector<std::string> more_;      // names that could not be put into a pattern before the queues existed
    std::vector<std::string> patterns_;  // the patterns of the guard
    std::vector<std::string> without_more_;
    /// The queues by the policy that is in effect on them and by the part of it that is kept.
    std::map<std::pair<std::string, core::Definition>, std::vector<std::string>> copies_;
    std::vector<std::string> names_;  // the names of the copies
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
        // RabbitMQ does not apply a policy with `overflow` to a stream.
        if (queue.type == "stream" || !is_retryds(policy, queue)) continue;
        const BrokerPolicy* const now = effective.policy(queue.policy);
        const bool guarded = now != nullptr && now->priority >= guard_priority &&
                             harm_of(now->definition, queue, policy.error_queue).settings.empty();
        if (!guarded) names.push_back(queue.name);
    }
    return names;
}

}  // namespace retryd::admin
