#include "core/attachment.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/attachment_needs.h"
#include "core/names.h"
#include "core/queue_pattern.h"

namespace retryd::core {
namespace {

using State = Standing::State;

constexpr const char* dead_letter_exchange = "dead-letter-exchange";

std::string in_quotes(const std::string& text) {
    return '\'' + text + '\'';
}

/// Told apart by the error exchange: a vhost may have several retryd.
std::string general_name(const Policy& policy) {
    return (policy.error_exchange.starts_with("retryd") ? "" : "retryd-") + policy.error_exchange;
}

Definition merged(Definition definition, const Definition& keys) {
    for (const auto& [key, value] : keys)
        definition[key] = value;
    return definition;
}

/// Queues that have the same policy in effect and need the same of it.
struct Group {
    std::vector<std::string> queues;
    std::set<std::string> taken_from;
};

class Drafting {
  public:
    Drafting(const Policy& policy, const Governance& governance)
        : policy_(policy), governance_(governance), effective_(governance), general_(general_name(policy)) {}

    Attachment run() {
        for (const GovernedQueue& queue : governance_.queues) {
            const bool passing = queue.exclusive || queue.name.starts_with("amq.");
            if (!passing && match(policy_, queue.name) != nullptr) look_at(queue);
        }
        for (const Entry& entry : policy_.entries)
            add_to_general(entry);
        draft_general();
        for (const auto& [key, group] : groups_)
            draft(key.first, key.second, group);
        std::sort(draft_.queues.begin(), draft_.queues.end(),
                  [](const Standing& left, const Standing& right) { return left.queue < right.queue; });
        return std::move(draft_);
    }

  private:
    void look_at(const GovernedQueue& queue) {
        Needs needs = needs_of(queue, policy_, governance_);
        if (!queue.policy.empty() && effective_.policy(queue.policy) == nullptr) {
            needs = {State::out_of_reach, {}, "its policy has just been deleted or made: attach again", ""};
        }
        there_.insert(queue.name);
        draft_.queues.push_back({queue.name, queue.type, needs.state, queue.policy, needs.note});
        if (queue.policy == general_) under_general_.insert(queue.name);
        if (needs.state != State::to_attach) return;
        const bool by_general = queue.policy.empty() || queue.policy == general_;
        const bool exchange_alone = needs.keys.size() == 1 && needs.keys.contains(dead_letter_exchange);
        if (by_general && exchange_alone) {
            for_general_.emplace(queue.name, queue.policy);
        } else {
            add_to_group(queue.name, queue.policy, needs.keys, needs.taken_from);
        }
    }

    void add_to_group(const std::string& queue, const std::string& policy, const Definition& keys,
                      const std::string& taken_from) {
        Group& group = groups_[{policy, merged(definition_of(policy), keys)}];
        group.queues.push_back(queue);
        if (!taken_from.empty()) group.taken_from.insert(taken_from);
    }

    Definition to_error_exchange() const { return {{dead_letter_exchange, json_string(policy_.error_exchange)}}; }

    Definition definition_of(const std::string& policy) const {
        const BrokerPolicy* found = effective_.policy(policy);
        return found == nullptr ? Definition{} : found->definition;
    }

    /// Globs for the queues to come; of the exact names those that no other policy has.
    void add_to_general(const Entry& entry) {
        if (is_glob(entry.match)) return general_matches_.push_back(entry.match);
        if (match(policy_, entry.match) != &entry) return;
        const bool there = there_.contains(entry.match);
        if (!there) draft_.queues.push_back({entry.match, "", State::not_there, "", ""});
        if (!there || under_general_.contains(entry.match) || for_general_.contains(entry.match)) {
            general_matches_.push_back(entry.match);
        }
    }

    void draft_general() {
        const BrokerPolicy* before = effective_.policy(general_);
        if (before != nullptr) general_priority_ = before->priority;
        if (general_matches_.empty()) return;
        BrokerPolicy after = before != nullptr ? *before : BrokerPolicy{general_, "", "queues", {}, low_priority()};
        after.pattern = matches_pattern(policy_, general_matches_);
        after.definition = merged(after.definition, to_error_exchange());
        general_priority_ = after.priority;
        if (before != nullptr && *before == after) {
            // It does not take hold of these: something in it is not for their type.
            for (const auto& [queue, policy] : for_general_)
                add_to_group(queue, policy, to_error_exchange(), "");
            return;
        }
        PolicyChange change{after, {}, "", {}, {}, {}};
        if (before != nullptr) {
            change.before = *before;
            change.in_effect = general_;
            change.definition_now = before->definition;
        }
        for (const auto& [queue, policy] : for_general_)
            change.queues.push_back(queue);
        change.notes = general_notes();
        draft_.changes.push_back(std::move(change));
    }

    std::vector<std::string> general_notes() const {
        std::vector<std::string> notes;
        const bool glob = std::any_of(general_matches_.begin(), general_matches_.end(), is_glob);
        if (glob || for_general_.size() < general_matches_.size()) {
            notes.emplace_back(
                "also for queues made later. One of them that another policy applies to keeps that one, and a quorum "
                "queue dead-letters at-most-once by this one: attach again when it is there");
        }
        for (const GovernedQueue& queue : governance_.queues) {
            if (queue.policy == general_ && match(policy_, queue.name) == nullptr) {
                notes.push_back("no longer applies to queue " + in_quotes(queue.name) + ", which no entry matches");
            }
        }
        return notes;
    }

    /// Below all others: where another one applies, nothing of it is lost.
    std::int64_t low_priority() const {
        std::int64_t lowest = 1;
        for (const BrokerPolicy& other : governance_.policies) {
            if (other.apply_to != "exchanges") lowest = std::min(lowest, other.priority);
        }
        return lowest - 1;
    }

    void draft(const std::string& in_effect, const Definition& wanted, const Group& group) {
        const BrokerPolicy* now = effective_.policy(in_effect);
        PolicyChange change{{}, {}, in_effect, definition_of(in_effect), group.queues, {}};
        for (const std::string& exchange : group.taken_from) {
            change.notes.push_back(taken_away(exchange));
        }
        const std::size_t others = count_under(in_effect) - group.queues.size();
        const bool foreign = now != nullptr && in_effect != general_;
        // Of two with the same priority nobody knows which will be in effect.
        const bool stands = foreign && (!general_priority_ || now->priority > *general_priority_);
        if (stands && others == 0 && !names_.contains(in_effect)) {
            change.before = *now;
            change.after = *now;
            change.after.definition = wanted;
            change.notes.emplace_back("applies to every queue that its pattern matches, also to later ones");
        } else {
            make_own(change, now, wanted);
            if (foreign) change.notes.push_back(copied(in_effect, others));
        }
        names_.insert(change.after.name);
        draft_.changes.push_back(std::move(change));
    }

    static std::string taken_away(const std::string& exchange) {
        std::string note = "dead letters of these queues go to exchange ";
        note.append(exchange).append(" now, and no longer will. If its readers are to have what retryd gives up on, ");
        return note.append("say so in the entries: parked: {exchange: ").append(exchange).append("}");
    }

    std::string copied(const std::string& from, std::size_t others) const {
        const std::string why = others == 0 ? "which stands no higher than " + in_quotes(general_)
                                            : "which applies to " + std::to_string(others) +
                                                  (others == 1 ? " other queue" : " other queues") + ", too";
        return "a copy of policy " + in_quotes(from) + ", " + why +
               ": a later change of that one does not reach these queues, unless it is made here as well";
    }

    std::size_t count_under(const std::string& policy) const {
        return static_cast<std::size_t>(
            std::count_if(governance_.queues.begin(), governance_.queues.end(),
                          [&](const GovernedQueue& queue) { return queue.policy == policy; }));
    }

    /// One that matches these queues alone and stands above the one in effect; one of that kind that is there already
    /// is extended.
    void make_own(PolicyChange& change, const BrokerPolicy* now, const Definition& wanted) const {
        const bool none = now == nullptr || now->name == general_;
        const std::string name = general_ + '-' + (none ? "queues" : now->name);
        const std::int64_t priority = std::max<std::int64_t>(now != nullptr ? now->priority + 1 : 0,
                                                             general_priority_ ? *general_priority_ + 1 : 0);
        change.after = {name, names_pattern(change.queues), "queues", wanted, priority};
        const BrokerPolicy* there = effective_.policy(name);
        if (there == nullptr && !names_.contains(name)) return;
        const std::string extended = there != nullptr ? extended_pattern(there->pattern, change.queues) : "";
        const bool same = there != nullptr && there->definition == wanted && there->apply_to == "queues" &&
                          there->priority >= priority && !names_.contains(name);
        if (!same || extended.empty()) {
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

    const Policy& policy_;
    const Governance& governance_;
    Effective effective_;
    std::string general_;
    std::set<std::string> there_;
    std::set<std::string> under_general_;
    std::map<std::string, std::string> for_general_;  // queues that it attaches, and what is in effect on them
    std::vector<std::string> general_matches_;
    std::optional<std::int64_t> general_priority_;  // of the general policy, there or drafted
    std::map<std::pair<std::string, Definition>, Group> groups_;
    std::set<std::string> names_;  // of what has been drafted
    Attachment draft_;
};

}  // namespace

Attachment attachment(const Policy& policy, const Governance& governance) {
    return Drafting(policy, governance).run();
}

std::string_view to_string(Standing::State state) {
    switch (state) {
        case State::attached:
            return "attached";
        case State::to_attach:
            return "to attach";
        case State::out_of_reach:
            return "out of reach";
        case State::not_there:
            break;
    }
    return "not there";
}

BrokerPolicy general_policy(const Policy& policy) {
    std::vector<std::string> matches;
    for (const Entry& entry : policy.entries)
        matches.push_back(entry.match);
    return {general_name(policy),
            matches_pattern(policy, matches),
            "queues",
            {{dead_letter_exchange, json_string(policy.error_exchange)}},
            0};
}

}  // namespace retryd::core
