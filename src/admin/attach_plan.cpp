#include "admin/attach_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "admin/dead_letter_path.h"
#include "admin/finding.h"
#include "admin/framework_retries.h"
#include "admin/own_policies.h"
#include "admin/patterns.h"
#include "admin/work_queues.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

using State = AttachState::State;

constexpr const char* dead_letter_exchange = "dead-letter-exchange";

// The notes beside a policy in the plan: which setting it adds and which it replaces.

/// Beside the general policy, about queues that are declared later; `below`: the priority that would be lower than that
/// of all other policies.
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

/// Beside the general policy, about a queue that it has applied to so far.
std::string no_longer_applies_note(const std::string& queue) {
    return "no longer applies to queue " + core::quoted(queue) + ", which no entry matches";
}

/// The same, about a queue that is left out.
std::string let_go_note(const std::string& queue) {
    return "no longer applies to queue " + core::quoted(queue) + ", whose failures come by a source alone";
}

/// `exchange`: where dead letters have gone so far, as JSON text.
std::string taken_away_note(const std::string& exchange) {
    std::string note = "dead letters of these queues go to exchange ";
    note.append(exchange).append(" now, and no longer will. If its consumers are to get what retryd gives up on, ");
    return note.append("name it in the entries: parked: {exchange: ").append(exchange).append("}");
}

/// Beside somebody else's policy that is changed. `lost_to_streams`: it did not dead-letter before, and does now.
std::string changed_note(bool lost_to_streams) {
    std::string note = "applies to every queue that its pattern matches, also to later ones";
    if (lost_to_streams) note += "; but no longer to a stream: those take no policy that dead-letters";
    return note;
}

/// Beside a copy. `why` says why the original is not changed: one of the texts below.
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

// Finds the policies to set.

/// Queues with the same policy in effect that need the same keys from it.
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
          paths_(policy, vhost_policies),
          general_(general_policy_name(policy)) {}

    AttachPlan plan() {
        for (const PlumbingQueue& each : plumbing_under_globs(policy_, vhost_policies_))
            plumbing_.insert(each.queue);
        for (const QueuePolicies& queue : vhost_policies_.queues) {
            const bool ignored = queue.exclusive || queue.name.starts_with("amq.") || plumbing_.contains(queue.name);
            if (ignored || match(policy_, queue.name) == nullptr) continue;
            // Left over from an entry that no longer holds messages.
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
        AttachRequirement required = requirement_of(queue, policy_, vhost_policies_, paths_);
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

    /// Whether that is the general policy or a part of it. The name alone does not tell: another retryd may have a
    /// general policy whose name begins the same way.
    bool is_general(const std::string& policy) const {
        if (policy == general_) return true;
        return is_called_like_part(policy, general_) && has_all(definition_of(policy), to_error_exchange(policy_));
    }

    /// Whether the queue has its dead-letter exchange from the general policy, or would have it if one of our own
    /// policies did not outrank that.
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

    /// Adds globs, for queues that are declared later, and the exact names of queues that do not exist yet or that no
    /// other policy applies to.
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
            // It does not apply to these queues: it has a key that RabbitMQ does not accept for their type.
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

    /// The queues that need nothing now, but whose policy would be outranked by the general one.
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

    /// Queues that globs leave out and whose messages expire or overflow: with the general policy those messages would
    /// dead-letter to us. Queues that the pattern leaves out by their name anyway are not among them. A queue that was
    /// left out before stays left out while it does not exist: such queues come and go, and the policy should not
    /// change each time.
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

    /// Lower than all others: where another policy applies, that one stays in effect.
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
        // RabbitMQ does not define which of two policies with the same priority wins.
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

    /// Each binding once, with all queues that need it.
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

    /// Whether the change would take the policy away from classic queues: RabbitMQ applies a policy with this key, as a
    /// whole, to quorum queues only.
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

    /// A policy for these queues alone, with a higher priority than the one in effect. If there already is one of that
    /// kind, it is extended.
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
    DeadLetterPaths paths_;
    std::string general_;
    std::set<std::string> plumbing_;  // queues that globs leave out
    std::set<std::string> there_;
    std::set<std::string> under_general_;
    std::vector<std::string> left_over_;                   // queues of held messages: no work queues
    std::vector<const QueuePolicies*> kept_under_others_;  // their policy is somebody else's and has to stay in effect
    std::map<std::string, std::string> for_general_;       // queues that it attaches => the policy in effect on each
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

namespace {

constexpr std::size_t most_names = 10;

/// The routing keys by which consumers of this queue may tell messages apart; empty if there is only one.
std::string keys_of(const std::string& queue, const RoutingGraph& graph) {
    std::vector<std::string> keys;
    std::set<std::string> known;
    bool pattern = false;
    for (const BrokerBinding* const binding : graph.bindings_to(queue)) {
        const std::string type = graph.type_of(binding->source);
        if (type != "topic" && type != "direct") continue;
        if (known.insert(binding->routing_key).second) keys.push_back(binding->routing_key);
        pattern = pattern || (type == "topic" && binding->routing_key.find_first_of("*#") != std::string::npos);
    }
    return keys.size() > 1 || pattern ? folded(keys, most_names) : "";
}

/// Whether some entry that this source may feed already has `failures: source`.
bool is_said(const core::Policy& policy, const core::Source& source) {
    return std::any_of(policy.entries.begin(), policy.entries.end(), [&](const core::Entry& entry) {
        return entry.failures == core::FailuresBy::source &&
               (core::is_glob(entry.match) || core::may_name(source, entry.match));
    });
}

/// Symfony's worker also rejects each message that it puts into the failure transport
/// (Symfony\Component\Messenger\Worker::ack), and nothing on the broker tells which work queues belong to it. A work
/// queue that the source names is not left out automatically: the source may only be there to be emptied.
void add_failure_transports(const core::Policy& policy, std::vector<std::string>& hints) {
    for (const core::Source& source : policy.sources) {
        if (source.dialect != core::Dialect::symfony || is_said(policy, source)) continue;
        const bool named = source.work_queue.place == core::WorkQueueOf::Place::name;
        hints.push_back(
            "source " + core::quoted(source.queue) +
            " is a failure transport of Symfony Messenger, whose workers also reject what they put there: "
            "with a dead-letter exchange on their work queue retryd gets each failure twice, and one message "
            "that always fails becomes two, and these four. Say failures: source in the " +
            (named ? "entry of " + core::quoted(source.work_queue.text) : std::string{"entries of their work queues"}) +
            ": attach leaves out what says so");
    }
}

}  // namespace

std::vector<std::string> attach_hints(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    std::vector<std::string> hints;
    for (const Finding& each : grouped(check_framework_retries(policy, vhost_policies)))
        hints.push_back(each.cause + " (" + std::string{kind_of(each.code).name} + "): " + each.consequence +
                        ". Remedy: " + each.remedy);
    add_failure_transports(policy, hints);
    std::map<std::string, std::vector<PlumbingQueue>> left_out;
    std::set<std::string> plumbing;
    for (PlumbingQueue& each : plumbing_under_globs(policy, vhost_policies)) {
        plumbing.insert(each.queue);
        left_out[each.glob].push_back(std::move(each));
    }
    if (vhost_policies.routing) {
        const RoutingGraph graph(*vhost_policies.routing);
        for (const QueuePolicies& queue : vhost_policies.queues) {
            const bool by_name =
                returns_by_name(policy, queue.name) && queue.type != "stream" && !plumbing.contains(queue.name);
            const std::string keys = by_name ? keys_of(queue.name, graph) : "";
            if (keys.empty()) continue;
            hints.push_back("queue " + core::quoted(queue.name) + " is bound with the keys " + keys +
                            ": if its consumers tell messages apart by the routing key, give it a ladder with "
                            "`return: headers`. Without that a message comes back with the routing key " +
                            core::quoted(queue.name) + ", and its own in the header retryd-routing-key");
        }
    }
    for (const auto& [glob, queues] : left_out) {
        std::vector<std::string> names;
        for (const PlumbingQueue& each : queues)
            names.push_back(each.queue);
        hints.push_back("glob " + core::quoted(glob) + " leaves out " + folded(names, most_names) + ": the first " +
                        queues.front().why + ". An entry with the very name of a queue, before the glob, takes it");
    }
    return hints;
}

}  // namespace retryd::admin
