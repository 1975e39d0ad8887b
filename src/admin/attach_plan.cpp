#include "admin/attach_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "admin/broker_pattern.h"
#include "admin/dead_letter_way.h"
#include "admin/own_policies.h"
#include "admin/patterns.h"
#include "admin/work_queues.h"
#include "core/names.h"
#include "core/plumbing.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

using State = AttachState::State;

constexpr const char* dead_letter_exchange = "dead-letter-exchange";

// What is said beside a policy: what setting it brings and takes.

/// Of the general policy, about queues to come; `below`: the priority that would be below all other policies.
std::string for_later_note(std::int64_t priority, std::int64_t below) {
    const std::string attach_again =
        ", and a quorum queue dead-letters at-most-once by this one: attach again when it is there";
    if (priority <= below) {
        return "also for queues made later. One of them that another policy applies to keeps that one" + attach_again;
    }
    return "also for queues made later. One of them that a policy with a priority of " + std::to_string(priority) +
           " or less applies to may lose what that one says: give this one the priority " + std::to_string(below) +
           " and attach again. One that a higher one applies to keeps that one" + attach_again;
}

/// Of the general policy, about a queue that it applies to until now.
std::string no_longer_applies_note(const std::string& queue) {
    return "no longer applies to queue " + core::quoted(queue) + ", which no entry matches";
}

/// The same of one that is left out.
std::string let_go_note(const std::string& queue) {
    return "no longer applies to queue " + core::quoted(queue) + ", whose failures come by a source alone";
}

/// The exchange, as JSON text, is the one that dead letters go to until now.
std::string taken_away_note(const std::string& exchange) {
    std::string note = "dead letters of these queues go to exchange ";
    note.append(exchange).append(" now, and no longer will. If its consumers are to get what retryd gives up on, ");
    return note.append("name it in the entries: parked: {exchange: ").append(exchange).append("}");
}

/// Of a policy of somebody else's that is changed. `lost_to_streams`: it did not dead-letter, and does now.
std::string changed_note(bool lost_to_streams) {
    std::string note = "applies to every queue that its pattern matches, also to later ones";
    if (lost_to_streams) note += "; but no longer to a stream: those take no policy that dead-letters";
    return note;
}

/// Of a copy, and why the policy itself is not changed: one of those below.
std::string copied_note(const std::string& from, const std::string& why) {
    return "a copy of policy " + core::quoted(from) + ", " + why +
           ": a later change of that one does not reach these queues, unless it is made here as well";
}

std::string applies_to_others(std::size_t others) {
    return "which applies to " + std::to_string(others) + (others == 1 ? " other queue" : " other queues") + ", too";
}

std::string priority_no_higher_than(const std::string& than) {
    return "whose priority is no higher than that of " + core::quoted(than);
}

std::string would_narrow_to_quorum() {
    return "which with these keys would not apply to a classic queue that is created later";
}

// The policies to set.

/// Queues that have the same policy in effect and need the same of it.
struct Group {
    std::vector<std::string> queues;
    std::set<std::string> taken_from;
};

class AttachPlanner {
  public:
    AttachPlanner(const core::Policy& policy, const VhostPolicies& vhost_policies)
        : policy_(policy),
          vhost_policies_(vhost_policies),
          effective_(vhost_policies),
          ways_(policy, vhost_policies),
          general_(general_policy_name(policy)) {}

    AttachPlan plan() {
        for (const PlumbingQueue& each : plumbing_under_globs(policy_, vhost_policies_))
            plumbing_.insert(each.queue);
        for (const QueuePolicies& queue : vhost_policies_.queues) {
            const bool ignored = queue.exclusive || queue.name.starts_with("amq.") || plumbing_.contains(queue.name);
            if (ignored || match(policy_, queue.name) == nullptr) continue;
            // Left over of an entry that does not hold any more.
            const bool held = core::work_queue_held_in(policy_, queue.name, queue.arguments).has_value();
            held ? left_over_.push_back(queue.name) : classify(queue);
        }
        for (const core::Entry& entry : policy_.entries)
            add_to_general(entry);
        plan_general_policy();
        for (const auto& [key, group] : groups_)
            plan_change(key.first, key.second, group);
        plan_bindings();
        for (PolicyChange& change : renewed_copies(policy_, vhost_policies_, false)) {
            if (names_.insert(change.after.name).second) plan_.changes.push_back(std::move(change));
        }
        std::sort(plan_.queues.begin(), plan_.queues.end(),
                  [](const AttachState& left, const AttachState& right) { return left.queue < right.queue; });
        return std::move(plan_);
    }

  private:
    void classify(const QueuePolicies& queue) {
        AttachRequirement required = requirement_of(queue, policy_, vhost_policies_, ways_);
        if (!queue.policy.empty() && effective_.policy(queue.policy) == nullptr) {
            required = {State::out_of_reach,          {}, "", "its policy has just been deleted or made", "look again",
                        FindingCode::policy_in_change};
        }
        there_.insert(queue.name);
        plan_.queues.push_back({queue.name, queue.type, required.state, queue.policy, required.note, required.remedy,
                                required.finding, required.bindings});
        if (required.state == State::by_source) return;
        if (is_under_general_policy(queue)) under_general_.insert(queue.name);
        const bool by_policy = required.state == State::to_attach && !required.keys.empty();
        if (!by_policy && !is_ours(queue.policy)) kept_under_others_.push_back(&queue);
        if (!by_policy) return;
        const bool by_general = queue.policy.empty() || is_general(queue.policy);
        const bool exchange_alone = required.keys.size() == 1 && required.keys.contains(dead_letter_exchange);
        if (by_general && exchange_alone) {
            for_general_.emplace(queue.name, queue.policy);
        } else {
            add_to_group(queue.name, queue.policy, required.keys, required.taken_from);
        }
    }

    bool is_ours(const std::string& policy) const {
        return policy.empty() || is_general(policy) || policy.starts_with(general_ + '-');
    }

    /// The general policy, or a part of it: another retryd may have one that is called so.
    bool is_general(const std::string& policy) const {
        if (policy == general_) return true;
        return is_called_like_part(policy, general_) && has_all(definition_of(policy), to_error_exchange(policy_));
    }

    /// Owes its exchange to the general policy, or would without the one of ours above it.
    bool is_under_general_policy(const QueuePolicies& queue) const {
        if (queue.policy.empty() || !is_ours(queue.policy)) return false;
        const bool by_argument = argument(queue, dead_letter_exchange).has_value();
        return (is_general(queue.policy) && !by_argument) ||
               std::any_of(vhost_policies_.policies.begin(), vhost_policies_.policies.end(),
                           [&](const BrokerPolicy& each) {
                               return is_general(each.name) && names_in_pattern(each.pattern, queue.name);
                           });
    }

    void add_to_group(const std::string& queue, const std::string& policy, const core::Definition& keys,
                      const std::string& taken_from) {
        Group& group = groups_[{policy, merged(definition_of(policy), keys)}];
        group.queues.push_back(queue);
        if (!taken_from.empty()) group.taken_from.insert(taken_from);
    }

    core::Definition definition_of(const std::string& policy) const {
        const BrokerPolicy* found = effective_.policy(policy);
        return found == nullptr ? core::Definition{} : found->definition;
    }

    /// Globs for the queues to come; of the exact names those that no other policy has.
    void add_to_general(const core::Entry& entry) {
        const bool by_source = entry.failures == core::FailuresBy::source;
        if (core::is_glob(entry.match)) {
            if (!by_source) general_matches_.push_back(entry.match);
            return;
        }
        if (match(policy_, entry.match) != &entry) return;
        const bool there = there_.contains(entry.match);
        if (!there) plan_.queues.push_back({entry.match, "", State::not_there, "", "", "", {}});
        if (by_source) return;
        if (!there || under_general_.contains(entry.match) || for_general_.contains(entry.match)) {
            general_matches_.push_back(entry.match);
        }
    }

    void plan_general_policy() {
        const BrokerPolicy* before = effective_.policy(general_);
        if (before != nullptr) general_priority_ = before->priority;
        if (general_matches_.empty()) return;
        BrokerPolicy after = before != nullptr ? *before : BrokerPolicy{general_, "", "queues", {}, low_priority()};
        after.definition = merged(after.definition, to_error_exchange(policy_));
        general_priority_ = after.priority;
        std::vector<PolicyChange> changes = changed_parts(
            after, to_error_exchange(policy_),
            matches_patterns(policy_, general_matches_, not_for_general(after.priority)), vhost_policies_);
        if (changes.empty()) {
            // It does not take hold of these: something in it is not for their type.
            for (const auto& [queue, policy] : for_general_)
                add_to_group(queue, policy, to_error_exchange(policy_), "");
            return;
        }
        for (PolicyChange& change : changes) {
            const BrokerPattern pattern(change.after.pattern, BrokerPattern::as_many_steps_as_the_broker);
            for (const auto& [queue, policy] : for_general_) {
                if (pattern.matches(queue).value_or(false)) change.queues.push_back(queue);
            }
            change.notes = general_notes(change, pattern);
            plan_.changes.push_back(std::move(change));
        }
    }

    /// Of the queues that need nothing, those whose policy does not stand above the general one and would lose to it.
    std::vector<std::string> not_for_general(std::int64_t priority) const {
        std::vector<std::string> names = left_over_;
        for (const QueuePolicies* queue : kept_under_others_) {
            const BrokerPolicy* policy = effective_.policy(queue->policy);
            if (policy != nullptr && policy->priority <= priority) names.push_back(queue->name);
        }
        for (std::string& name : plumbing_that_gives_up())
            names.push_back(std::move(name));
        return names;
    }

    /// Of what globs leave out, the queues whose messages would dead-letter by themselves, but for those that are left
    /// out by what they are called. One that was left out before stays so while it is not there: such queues come and
    /// go, and the policy is to stay as it is.
    std::vector<std::string> plumbing_that_gives_up() const {
        constexpr std::size_t most_bytes = 400;  // of the 1,024 of a pattern
        std::set<std::string> there;
        std::vector<std::string> candidates;
        for (const QueuePolicies& queue : vhost_policies_.queues) {
            there.insert(queue.name);
            if (plumbing_.contains(queue.name) && gives_up_by_itself(queue)) candidates.push_back(queue.name);
        }
        for (const BrokerPolicy& each : vhost_policies_.policies) {
            for (std::string& name : is_general(each.name) ? excluded_names(each.pattern) : std::vector<std::string>{})
                if (!there.contains(name) && !glob_that_names(policy_, name).empty())
                    candidates.push_back(std::move(name));
        }
        std::size_t bytes = 0;
        std::vector<std::string> names;
        for (std::string& name : candidates) {
            bytes += pattern_of_name(name).size() + 1;
            if (bytes <= most_bytes) names.push_back(std::move(name));
        }
        return names;
    }

    bool gives_up_by_itself(const QueuePolicies& queue) const {
        const auto sets = [&](const char* key) { return effective_.value(queue, key).source != Source::none; };
        return !core::is_known_plumbing(queue.name) && !argument(queue, dead_letter_exchange) &&
               (sets("message-ttl") || sets("max-length") || sets("max-length-bytes"));
    }

    std::vector<std::string> general_notes(const PolicyChange& change, const BrokerPattern& pattern) const {
        std::vector<std::string> notes;
        const bool glob = std::any_of(general_matches_.begin(), general_matches_.end(), core::is_glob);
        if (glob || for_general_.size() < general_matches_.size()) {
            notes.push_back(for_later_note(change.after.priority, low_priority()));
        }
        for (const QueuePolicies& queue : vhost_policies_.queues) {
            // Of several parts, it is under one.
            const bool stays = pattern.matches(queue.name).value_or(true);
            if (queue.policy != change.after.name || stays) continue;
            if (match(policy_, queue.name) == nullptr) notes.push_back(no_longer_applies_note(queue.name));
            if (core::comes_by_source_alone(policy_, queue.name)) notes.push_back(let_go_note(queue.name));
        }
        return notes;
    }

    /// Below all others: where another one applies, nothing of it is lost.
    std::int64_t low_priority() const {
        std::int64_t lowest = 1;
        for (const BrokerPolicy& other : vhost_policies_.policies) {
            if (other.apply_to != "exchanges" && !is_general(other.name)) lowest = std::min(lowest, other.priority);
        }
        return lowest - 1;
    }

    void plan_change(const std::string& in_effect, const core::Definition& wanted, const Group& group) {
        const BrokerPolicy* now = effective_.policy(in_effect);
        PolicyChange change{{}, {}, in_effect, definition_of(in_effect), group.queues, {}};
        for (const std::string& exchange : group.taken_from) {
            change.notes.push_back(taken_away_note(exchange));
        }
        const std::size_t others = queues_under(in_effect) - group.queues.size();
        const bool foreign = now != nullptr && !is_general(in_effect);
        // Of two with the same priority nobody knows which will be in effect.
        const bool outranks_general = foreign && (!general_priority_ || now->priority > *general_priority_);
        if (outranks_general && others == 0 && !narrows_to_quorum(*now, wanted) && !names_.contains(in_effect)) {
            change.before = *now;
            change.after = *now;
            change.after.definition = wanted;
            change.notes.push_back(changed_note(!now->definition.contains(dead_letter_exchange)));
            return add(std::move(change));
        }
        if (foreign) change.notes.push_back(copied_note(in_effect, why_copied(others, outranks_general)));
        for (std::vector<std::string>& part : names_in_parts(group.queues)) {
            PolicyChange own = change;
            own.queues = std::move(part);
            plan_own_policy(own, now, wanted);
            add(std::move(own));
        }
    }

    /// Each once, with all queues that need it.
    void plan_bindings() {
        for (const AttachState& state : plan_.queues) {
            for (const core::ErrorBinding& binding : state.bindings) {
                const auto known = std::find_if(plan_.bindings.begin(), plan_.bindings.end(),
                                                [&](const BindingChange& each) { return each.binding == binding; });
                if (known != plan_.bindings.end()) {
                    known->queues.push_back(state.queue);
                } else {
                    plan_.bindings.push_back({binding, {state.queue}});
                }
            }
        }
    }

    void add(PolicyChange change) {
        names_.insert(change.after.name);
        plan_.changes.push_back(std::move(change));
    }

    /// Only quorum queues take a policy with this key in it, as a whole.
    static bool narrows_to_quorum(const BrokerPolicy& now, const core::Definition& wanted) {
        constexpr const char* key = "dead-letter-strategy";
        return wanted.contains(key) && !now.definition.contains(key) && now.apply_to != "quorum_queues";
    }

    std::string why_copied(std::size_t others, bool outranks_general) const {
        if (others > 0) return applies_to_others(others);
        return outranks_general ? would_narrow_to_quorum() : priority_no_higher_than(general_);
    }

    std::size_t queues_under(const std::string& policy) const {
        return static_cast<std::size_t>(
            std::count_if(vhost_policies_.queues.begin(), vhost_policies_.queues.end(),
                          [&](const QueuePolicies& queue) { return queue.policy == policy; }));
    }

    /// One that matches these queues alone and stands above the one in effect; one of that kind that is there already
    /// is extended.
    void plan_own_policy(PolicyChange& change, const BrokerPolicy* now, const core::Definition& wanted) const {
        const bool none = now == nullptr || is_general(now->name);
        const std::string name = none ? general_ + "-queues" : copy_name(general_, now->name);
        const std::int64_t priority =
            std::max<std::int64_t>(now != nullptr ? priority_above(now->priority) : 0,
                                   general_priority_ ? priority_above(*general_priority_) : 0);
        change.after = {name, names_pattern(change.queues), "queues", wanted, priority};
        const BrokerPolicy* there = effective_.policy(name);
        if (there == nullptr && !names_.contains(name)) return;
        const std::string extended = there != nullptr ? extended_pattern(there->pattern, change.queues) : "";
        const bool same = there != nullptr && there->definition == wanted && there->apply_to == "queues" &&
                          there->priority >= priority && !names_.contains(name);
        if (!same || extended.empty() || extended.size() > longest_pattern) {
            change.after.name = free_name(name);
            return;
        }
        change.before = *there;
        change.after = *there;
        change.after.pattern = extended;
    }

    std::string free_name(const std::string& wanted) const {
        std::string name = wanted;
        for (int number = 2; effective_.policy(name) != nullptr || names_.contains(name); ++number)
            name = wanted + '-' + std::to_string(number);
        return name;
    }

    const core::Policy& policy_;
    const VhostPolicies& vhost_policies_;
    EffectivePolicy effective_;
    DeadLetterWays ways_;
    std::string general_;
    std::set<std::string> plumbing_;  // that globs leave out
    std::set<std::string> there_;
    std::set<std::string> under_general_;
    std::vector<std::string> left_over_;                   // queues of held messages: no work queues
    std::vector<const QueuePolicies*> kept_under_others_;  // under policies of others, which have to stay in effect
    std::map<std::string, std::string> for_general_;       // queues that it attaches, and what is in effect on them
    std::vector<std::string> general_matches_;
    std::optional<std::int64_t> general_priority_;  // of the general policy, there or planned
    std::map<std::pair<std::string, core::Definition>, Group> groups_;
    std::set<std::string> names_;  // of the policies planned so far
    AttachPlan plan_;
};

}  // namespace

AttachPlan plan_attach(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    return AttachPlanner(policy, vhost_policies).plan();
}

}  // namespace retryd::admin
