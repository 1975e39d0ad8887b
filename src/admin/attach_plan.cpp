#include "admin/attach_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "admin/broker_pattern.h"
#include "admin/dead_letter_way.h"
#include "admin/patterns.h"
#include "admin/plumbing.h"
#include "admin/policy_copies.h"
#include "core/names.h"
#include "core/safe_text.h"

namespace retryd::admin {

std::string_view to_string(AttachState::State state) {
    switch (state) {
        case AttachState::State::attached:
            return "attached";
        case AttachState::State::to_attach:
            return "to attach";
        case AttachState::State::out_of_reach:
            return "out of reach";
        case AttachState::State::not_there:
            break;
    }
    return "not there";
}

bool leads_to_error_queue(const core::Policy& policy, const std::string& exchange) {
    if (exchange == core::json_string(policy.error_exchange)) return true;
    return std::any_of(policy.error_bindings.begin(), policy.error_bindings.end(),
                       [&](const core::ErrorBinding& bound) { return core::json_string(bound.exchange) == exchange; });
}

namespace {

using State = AttachState::State;

constexpr const char* dead_letter_exchange = "dead-letter-exchange";
constexpr const char* at_least_once = "\"at-least-once\"";
constexpr const char* reject_publish = "\"reject-publish\"";

core::Definition merged(core::Definition definition, const core::Definition& keys) {
    for (const auto& [key, value] : keys)
        definition[key] = value;
    return definition;
}

bool has_all(const core::Definition& definition, const core::Definition& keys) {
    return merged(definition, keys) == definition;
}

}  // namespace

/// Told apart by the error exchange: a vhost may have several retryd.
std::string general_policy_name(const core::Policy& policy) {
    return (policy.error_exchange.starts_with("retryd") ? "" : "retryd-") + policy.error_exchange;
}

std::vector<BrokerPolicy> general_policies(const core::Policy& policy) {
    std::vector<std::string> matches;
    for (const core::Entry& entry : policy.entries)
        matches.push_back(entry.match);
    const BrokerPolicy whole{general_policy_name(policy),
                             "",
                             "queues",
                             {{dead_letter_exchange, core::json_string(policy.error_exchange)}},
                             0};
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

namespace {

// What one work queue needs of a policy to be attached.

struct Requirement {
    State state = State::attached;
    core::Definition keys;   // what the policy has to set besides what it sets; empty unless to_attach
    std::string taken_from;  // the exchange, as JSON text, that its dead letters go to now and then no more
    // About the queue, whatever its state; empty and nothing where there is no more to say.
    std::string note;
    std::string remedy;
    std::optional<FindingCode> finding;
    std::vector<core::ErrorBinding> bindings = {};
};

Requirement out_of_reach(FindingCode finding, std::string note, std::string remedy) {
    return {State::out_of_reach, {}, "", std::move(note), std::move(remedy), finding};
}

/// `errors.bind` for an exchange that it does not have yet; empty where no binding helps.
std::string remedy_by_binding(const DeadLetterWays& ways, const QueuePolicies& queue, const std::string& exchange,
                              const core::Policy& policy, const EffectivePolicy& effective) {
    const std::string item = "{exchange: " + core::json_string(exchange) + "}";
    const std::string bind = "name that exchange in errors.bind, ";
    if (ways.ways().type_of(exchange) != "direct") return bind + item;
    const DeadLetterKeys keys = dead_letter_keys(queue, effective, ways.ways(), returns_by_name(policy, queue.name));
    if (keys.any || !can_be_bound("direct", keys.keys)) {
        return bind + "with each key that its messages have, {exchange: " + core::json_string(exchange) +
               ", routing_key: KEY}";
    }
    return bind + bind_items(exchange, keys.keys);
}

/// The default exchange takes no bindings; but the queue that it leads to can be consumed.
std::string remedy_by_source(const VhostPolicies& vhost_policies, const core::Policy& policy,
                             const QueuePolicies& queue, const EffectivePolicy& effective) {
    const auto key = text_of(effective.value(queue, "dead-letter-routing-key").value);
    if (!key || *key == queue.name || core::is_own_queue(policy, *key)) return "";
    const bool there = std::any_of(vhost_policies.queues.begin(), vhost_policies.queues.end(),
                                   [&](const QueuePolicies& each) { return each.name == *key; });
    return there ? "have retryd consume the queue that it leads to, sources: [{queue: " + core::json_string(*key) +
                       ", dialect: generic}]"
                 : "";
}

Requirement fixed_by_argument(const QueuePolicies& queue, const std::string& exchange_json, const DeadLetterWays& ways,
                              const core::Policy& policy, const VhostPolicies& vhost_policies) {
    const EffectivePolicy effective(vhost_policies);
    const std::string recreate = "recreate the queue without x-dead-letter-exchange";
    const std::string note =
        "its dead-letter exchange " + exchange_json + " is fixed by argument, and no policy overrides that";
    std::string instead;
    if (effective.value(queue, "message-ttl").source != Source::none) {
        instead = "take it out of the configuration if it only lets messages wait for its TTL";
    } else if (!vhost_policies.routing || !text_of(exchange_json)) {
        if (exchange_json != "\"\"") instead = "name that exchange in errors.bind, {exchange: " + exchange_json + "}";
    } else if (exchange_json == "\"\"") {
        instead = remedy_by_source(vhost_policies, policy, queue, effective);
    } else {
        instead = remedy_by_binding(ways, queue, *text_of(exchange_json), policy, effective);
    }
    return out_of_reach(FindingCode::fixed_dead_letter_exchange, note,
                        instead.empty() ? recreate : instead + ", or " + recreate);
}

/// What has this key, or one of these.
std::string keys_named(const std::set<RoutingKey>& keys) {
    std::string text = keys.size() == 1 ? "the routing key " : "the routing keys ";
    const char* between = "";
    for (const RoutingKey& key : keys) {
        text.append(between).append(core::quoted(key.text));
        between = ", ";
    }
    return text;
}

/// By an exchange of errors.bind that does not take what the queue rejects, with the keys that it has.
void add_unmatched(Requirement& required, const DeadLetterWay& way, const std::string& exchange) {
    if (way.missing.empty() && !way.keys_unknown) return;
    const std::string subject =
        "its dead-letter exchange " + core::json_string(exchange) + " is a " + way.exchange_type + " exchange";
    required.finding = FindingCode::unmatched_dead_letters;
    if (way.keys_unknown || !can_be_bound(way.exchange_type, way.missing)) {
        required.state = State::out_of_reach;
        required.note =
            subject + ", which takes no wildcards, and with which routing keys its messages come nothing tells";
        required.remedy = "name each of them in errors.bind, {exchange: " + core::json_string(exchange) +
                          ", routing_key: KEY}, or recreate the queue with an x-dead-letter-routing-key";
        return;
    }
    required.state = State::to_attach;
    required.note = subject + ", and the error queue is not bound to it with " + keys_named(way.missing);
    required.remedy =
        "retryd attach --apply binds it, with the keys of all. Have them in errors.bind as well, so that "
        "it is bound again when the exchange has been made anew: " +
        bind_items(exchange, way.missing);
    for (const RoutingKey& key : way.missing)
        required.bindings.push_back({exchange, key.text});
}

class QuorumRequirement {
  public:
    QuorumRequirement(const QueuePolicies& queue, const EffectivePolicy& effective)
        : limited_(effective.is_limited(queue)),
          overflow_(effective.quorum_overflow(queue)),
          strategy_(effective.dead_letter_strategy(queue)) {}

    void add_to(Requirement& required) const {
        if (say_why_not(required)) return;
        if (strategy_.value != at_least_once) required.keys["dead-letter-strategy"] = at_least_once;
        if (overflow_.value != reject_publish) required.keys["overflow"] = reject_publish;
    }

  private:
    /// True where its dead letters are not made at-least-once.
    bool say_why_not(Requirement& required) const {
        const auto say = [&](const std::string& why, const std::string& remedy) {
            required.note = "its way to the error queue is at-most-once: " + why;
            required.remedy = remedy;
            required.finding = FindingCode::at_most_once;
            return true;
        };
        if (strategy_.source == Source::argument && strategy_.value != at_least_once) {
            return say("x-dead-letter-strategy is fixed by argument", "recreate the queue without it");
        }
        if (overflow_.value == reject_publish) return false;
        if (overflow_.source != Source::none) {
            return say("at-least-once needs overflow reject-publish, and " + set_by(overflow_.source) + " says " +
                           overflow_.value,
                       "change that there if publishers may be refused when the queue is full");
        }
        if (!limited_) return false;
        return say(
            "at-least-once needs overflow reject-publish, but its length is limited, and publishers would be refused "
            "where now the oldest messages are dropped",
            "set overflow by yourself if they may be");
    }

    static std::string set_by(Source source) {
        if (source == Source::argument) return "its argument x-overflow";
        return source == Source::policy ? "its policy" : "an operator policy";
    }

    bool limited_;
    Setting overflow_;
    Setting strategy_;
};

Requirement requirement_of(const QueuePolicies& queue, const core::Policy& policy, const VhostPolicies& vhost_policies,
                           const DeadLetterWays& ways) {
    if (queue.type != "classic" && queue.type != "quorum") {
        return out_of_reach(FindingCode::stream_queue, "a " + queue.type + " queue cannot dead-letter",
                            "take it out of the configuration");
    }
    const EffectivePolicy effective(vhost_policies);
    const Setting exchange = effective.dead_letter_exchange(queue);
    const bool ours = exchange.source != Source::none && leads_to_error_queue(policy, exchange.value);
    if (exchange.source == Source::argument && !ours) {
        return fixed_by_argument(queue, exchange.value, ways, policy, vhost_policies);
    }
    Requirement required;
    if (!ours) {
        required.keys["dead-letter-exchange"] = core::json_string(policy.error_exchange);
        required.taken_from = exchange.value;
    }
    if (queue.type == "quorum" && features_of(vhost_policies.version).quorum_ttl) {
        QuorumRequirement(queue, effective).add_to(required);
    }
    if (!required.keys.empty()) required.state = State::to_attach;
    const auto by = ours ? text_of(exchange.value) : std::nullopt;
    if (!by || *by == policy.error_exchange) return required;
    if (const auto way = ways.way(queue, *by)) add_unmatched(required, *way, *by);
    return required;
}

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
        Requirement required = requirement_of(queue, policy_, vhost_policies_, ways_);
        if (!queue.policy.empty() && effective_.policy(queue.policy) == nullptr) {
            required =
                out_of_reach(FindingCode::policy_in_change, "its policy has just been deleted or made", "look again");
        }
        there_.insert(queue.name);
        plan_.queues.push_back({queue.name, queue.type, required.state, queue.policy, required.note, required.remedy,
                                required.finding, required.bindings});
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
        return is_called_like_part(policy, general_) && has_all(definition_of(policy), to_error_exchange());
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

    core::Definition to_error_exchange() const {
        return {{dead_letter_exchange, core::json_string(policy_.error_exchange)}};
    }

    core::Definition definition_of(const std::string& policy) const {
        const BrokerPolicy* found = effective_.policy(policy);
        return found == nullptr ? core::Definition{} : found->definition;
    }

    /// Globs for the queues to come; of the exact names those that no other policy has.
    void add_to_general(const core::Entry& entry) {
        if (core::is_glob(entry.match)) return general_matches_.push_back(entry.match);
        if (match(policy_, entry.match) != &entry) return;
        const bool there = there_.contains(entry.match);
        if (!there) plan_.queues.push_back({entry.match, "", State::not_there, "", "", "", {}});
        if (!there || under_general_.contains(entry.match) || for_general_.contains(entry.match)) {
            general_matches_.push_back(entry.match);
        }
    }

    void plan_general_policy() {
        const BrokerPolicy* before = effective_.policy(general_);
        if (before != nullptr) general_priority_ = before->priority;
        if (general_matches_.empty()) return;
        BrokerPolicy after = before != nullptr ? *before : BrokerPolicy{general_, "", "queues", {}, low_priority()};
        after.definition = merged(after.definition, to_error_exchange());
        general_priority_ = after.priority;
        std::vector<PolicyChange> changes = changed_parts(
            after, to_error_exchange(), matches_patterns(policy_, general_matches_, not_for_general(after.priority)),
            vhost_policies_);
        if (changes.empty()) {
            // It does not take hold of these: something in it is not for their type.
            for (const auto& [queue, policy] : for_general_)
                add_to_group(queue, policy, to_error_exchange(), "");
            return;
        }
        for (PolicyChange& change : changes) {
            const BrokerPattern pattern(change.after.pattern, BrokerPattern::as_many_steps_as_the_broker);
            for (const auto& [queue, policy] : for_general_) {
                if (pattern.matches(queue).value_or(false)) change.queues.push_back(queue);
            }
            change.notes = general_notes(after.priority);
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
        return names;
    }

    std::vector<std::string> general_notes(std::int64_t priority) const {
        std::vector<std::string> notes;
        const bool glob = std::any_of(general_matches_.begin(), general_matches_.end(), core::is_glob);
        if (glob || for_general_.size() < general_matches_.size()) {
            notes.push_back(for_later_note(priority, low_priority()));
        }
        for (const QueuePolicies& queue : vhost_policies_.queues) {
            if (is_general(queue.policy) && match(policy_, queue.name) == nullptr) {
                notes.push_back(no_longer_applies_note(queue.name));
            }
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
