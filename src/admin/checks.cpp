#include "admin/checks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "admin/attach_plan.h"
#include "admin/by_source.h"
#include "admin/dead_letter_path.h"
#include "admin/delivery_limit.h"
#include "admin/effective_policy.h"
#include "admin/framework_retries.h"
#include "admin/guard.h"
#include "admin/own_policies.h"
#include "admin/patterns.h"
#include "admin/rabbitmqctl.h"
#include "admin/work_queues.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

constexpr const char* attach_command = "retryd attach --apply";
/// A message TTL of a work queue below this (milliseconds) is reported: hardly anybody wants messages to expire so
/// soon.
constexpr std::int64_t short_ttl = 60'000;

/// Makes room above a policy that has the highest possible priority; it still applies to the same queues.
std::string lower_and_attach(const BrokerPolicy& policy, std::string_view vhost) {
    BrokerPolicy lower = policy;
    --lower.priority;
    return set_policy_command(lower, vhost) + " && " + attach_command;
}

class OwnQueueChecker {
  public:
    OwnQueueChecker(const core::Policy& policy, const VhostPolicies& vhost_policies, std::string_view vhost)
        : error_queue_(policy.error_queue),
          vhost_policies_(vhost_policies),
          vhost_(vhost),
          effective_(vhost_policies) {}

    void check(const QueuePolicies& queue) {
        check(queue, effective_.policy(queue.policy), false);
        check(queue, effective_.operator_policy(queue.operator_policy), true);
    }

    std::vector<Finding> findings() const {
        std::vector<Finding> found;
        for (const auto& [group, harmed] : harmed_)
            found.push_back(finding(group, harmed));
        return found;
    }

  private:
    /// The harm that one policy does to queues of one kind.
    struct Harmed {
        const BrokerPolicy* policy;
        bool by_operator;
        Harm harm;
        std::vector<std::string> names;
    };

    void check(const QueuePolicies& queue, const BrokerPolicy* policy, bool by_operator) {
        if (policy == nullptr) return;
        Harmed harmed{policy, by_operator, harm_of(policy->definition, queue, error_queue_), {}};
        if (harmed.harm.settings.empty()) return;
        const std::string group = title(harmed) + ' ' + harmed.harm.settings + ' ' + harmed.harm.consequence;
        harmed_.try_emplace(group, harmed).first->second.names.push_back(queue.name);
    }

    static std::string title(const Harmed& harmed) {
        return (harmed.by_operator ? "operator policy " : "policy ") + core::quoted(harmed.policy->name);
    }

    Finding finding(const std::string& group, const Harmed& harmed) const {
        FindingDetails details = way_out(harmed);
        details.consequence = harmed.harm.consequence;
        details.group = group;
        Finding found(
            FindingCode::harmful_policy,
            title(harmed) + " sets " + harmed.harm.settings + " on queue " + core::quoted(harmed.names.front()),
            std::move(details));
        found.names = harmed.names;
        return found;
    }

    FindingDetails way_out(const Harmed& harmed) const {
        if (harmed.by_operator || !features_of(vhost_policies_.version).quorum_ttl) {
            return {.remedy = "give the " + std::string{harmed.by_operator ? "operator " : ""} +
                              "policy a pattern that leaves this queue out"};
        }
        if (harmed.policy->priority != highest_priority) {
            return {.remedy =
                        "retryd attach prints a policy that stands above it, with its undo; or give that one "
                        "a pattern that leaves this queue out",
                    .command = attach_command};
        }
        return {.remedy =
                    "no policy can stand above one of the highest priority there is: lower it by one, and retryd "
                    "attach sets a policy that stands above it; or give it a pattern that leaves this queue out",
                .command = lower_and_attach(*harmed.policy, vhost_)};
    }

    const std::string& error_queue_;
    const VhostPolicies& vhost_policies_;
    std::string_view vhost_;
    EffectivePolicy effective_;
    std::map<std::string, Harmed> harmed_;
};

}  // namespace

std::vector<Finding> check_own_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                      std::string_view vhost) {
    OwnQueueChecker checker(policy, vhost_policies, vhost);
    for (const QueuePolicies& queue : vhost_policies.queues) {
        if (is_retryds(policy, queue)) checker.check(queue);
    }
    return checker.findings();
}

std::vector<Finding> check_copies(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    std::vector<Finding> found;
    for (const OutdatedCopy& outdated : outdated_copies(policy, vhost_policies)) {
        found.emplace_back(
            FindingCode::outdated_copy,
            "policy " + core::quoted(outdated.copy.name) + " is a copy of policy " + core::quoted(outdated.original) +
                (outdated.original_applies ? " as it was: " : ", which is gone or no longer for these queues: ") +
                difference(outdated) + ", on queue " + core::quoted(outdated.queues.front()),
            FindingDetails{.group = outdated.copy.name});
        found.back().names = outdated.queues;
    }
    return found;
}

std::vector<Finding> check_guard(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    const std::vector<std::string> names = unguarded_queues(policy, vhost_policies);
    if (names.empty()) return {};
    Finding found(FindingCode::unguarded, "no policy of high priority guards retryd's own queue " +
                                              core::quoted(names.front()) + " from policies that are meant for others");
    found.names = names;
    return {std::move(found)};
}

namespace {

using State = AttachState::State;

std::string with_priority(const BrokerPolicy& policy) {
    return "policy " + core::quoted(policy.name) + " (priority " + std::to_string(policy.priority) + ')';
}

class WorkQueueChecker {
  public:
    WorkQueueChecker(const core::Policy& policy, const VhostPolicies& vhost_policies, std::string_view vhost,
                     const AttachPlan& plan)
        : policy_(policy), vhost_policies_(vhost_policies), vhost_(vhost), plan_(plan), effective_(vhost_policies) {
        for (const QueuePolicies& queue : vhost_policies.queues)
            queues_.emplace(queue.name, &queue);
    }

    std::vector<Finding> found;

    void check(const AttachState& state) {
        const auto queue = queues_.find(state.queue);
        if (queue == queues_.end()) {
            return add(FindingCode::no_work_queue, "work queue " + core::quoted(state.queue) + " does not exist",
                       {.name = state.queue});
        }
        if (state.finding) {
            // Each queue may have keys of its own.
            const bool bound = !state.bindings.empty();
            add(*state.finding, "work queue " + core::quoted(state.queue) + ": " + state.note,
                {.remedy = state.remedy,
                 .command = bound ? attach_command : "",
                 .name = state.queue,
                 .group = bound ? state.bindings.front().exchange : state.note});
        }
        if (state.state == State::by_source) {
            auto wrong = check_by_source(*queue->second, policy_, vhost_policies_, vhost_, plan_.changes);
            if (wrong) found.push_back(std::move(*wrong));
        }
        if (state.state == State::to_attach && state.bindings.empty()) add_not_attached(*queue->second);
        add_native_retry(*queue->second);
        add_short_lived(*queue->second);
    }

  private:
    /// Reports a queue that a policy could attach, but that is not attached, or only at-most-once.
    void add_not_attached(const QueuePolicies& queue) {
        const Setting exchange = effective_.dead_letter_exchange(queue);
        const BrokerPolicy* lost = policy_that_lost(queue);
        const std::string work_queue = "work queue " + core::quoted(queue.name);
        const std::string replaced = lost == nullptr ? ""
                                                     : with_priority(*effective_.policy(queue.policy)) + " replaced " +
                                                           with_priority(*lost) + " on " + work_queue + ": ";
        const std::string subject = lost == nullptr ? work_queue : replaced + "it";
        const std::string group = queue.policy + '\n' + (lost == nullptr ? "" : lost->name);
        if (exchange.source == Source::none) {
            add_to_attach(FindingCode::no_dead_letter_exchange, queue,
                          subject + " has no dead-letter exchange in effect", unless_by_source(queue.name, group));
        } else if (!leads_to_error_queue(policy_, exchange.value)) {
            add_to_attach(
                FindingCode::other_dead_letter_exchange, queue,
                subject + " dead-letters to exchange " + exchange.value + ", by policy " + core::quoted(queue.policy),
                {.name = queue.name, .group = group + '\n' + exchange.value});
        } else {
            add_to_attach(FindingCode::at_most_once, queue,
                          "quorum " + work_queue + " does not dead-letter at-least-once", {.name = queue.name});
        }
    }

    /// If a source may name this work queue, its failures may already come by that source.
    FindingDetails unless_by_source(const std::string& queue, const std::string& group) const {
        FindingDetails details{.name = queue, .group = group};
        if (!core::may_come_by_source(policy_, queue)) return details;
        const FindingKind& usual = kind_of(FindingCode::no_dead_letter_exchange);
        const core::Source* const transport = failure_transport_of(policy_, queue);
        if (transport != nullptr) {
            details.remedy = "say failures: source in its entry if source " + core::quoted(transport->queue) +
                             " is its failure transport: attached as well, each failure would come twice. If not, " +
                             std::string{usual.remedy};
        } else {
            details.remedy = std::string{usual.remedy} +
                             ". If its failures come by a source alone, say failures: source in its entry instead";
            details.command = attach_command;
        }
        details.group += "\nsource " + (transport == nullptr ? "" : transport->queue);
        return details;
    }

    /// The policy that would dead-letter to the error queue if the one in effect did not outrank it; null if there is
    /// none.
    const BrokerPolicy* policy_that_lost(const QueuePolicies& queue) const {
        const BrokerPolicy* lost = nullptr;
        if (effective_.policy(queue.policy) == nullptr) return lost;
        for (const BrokerPolicy& each : vhost_policies_.policies) {
            const auto exchange = each.definition.find("dead-letter-exchange");
            const bool leads_here =
                exchange != each.definition.end() && leads_to_error_queue(policy_, exchange->second);
            if (!leads_here || each.name == queue.policy || each.apply_to == "exchanges") continue;
            if (lost != nullptr && lost->priority >= each.priority) continue;
            if (pattern_of(each).matches(queue.name) == true) lost = &each;
        }
        return lost;
    }

    /// Reports RabbitMQ's own delayed retry (4.3 and later).
    void add_native_retry(const QueuePolicies& queue) {
        const Setting type = effective_.value(queue, "delayed-retry-type");
        if (type.source == Source::none || type.value == "\"disabled\"") return;
        add(FindingCode::delayed_retry,
            "work queue " + core::quoted(queue.name) + " has RabbitMQ's own delayed retry in effect, of type " +
                type.value,
            {.name = queue.name, .group = type.value});
    }

    /// Reports a queue that the broker deletes by itself (exclusive, auto-delete, expires), or whose messages expire
    /// soon. Its entry may name it exactly or by a glob.
    void add_short_lived(const QueuePolicies& queue) {
        const std::string subject = "work queue " + core::quoted(queue.name) + " ";
        const auto goes = [&](const std::string& how) {
            add(FindingCode::short_lived_queue, subject + how, {.name = queue.name, .group = how});
        };
        if (queue.exclusive) return goes("is exclusive: it goes with its connection");
        if (queue.auto_delete) return goes("is auto-delete: it goes with its last consumer");
        const Setting expires = effective_.value(queue, "expires");
        if (expires.source != Source::none)
            return goes("goes when nobody has used it for " + expires.value + " ms (expires)");
        const Setting ttl = effective_.value(queue, "message-ttl");
        if (ttl.source == Source::none || number_of(ttl.value).value_or(short_ttl) >= short_ttl) return;
        add(FindingCode::short_lived_queue, subject + "keeps messages for " + ttl.value + " ms only (message-ttl)",
            {.consequence = "what its consumers have not taken by then, whatever has come back from a rung included, "
                            "dies as expired: it is parked, unless `on` says otherwise",
             .remedy = "give it a longer TTL, or none; or take it out of the configuration",
             .name = queue.name,
             .group = "ttl " + ttl.value});
    }

    void add(FindingCode code, std::string cause, FindingDetails details) {
        found.emplace_back(code, std::move(cause), std::move(details));
    }

    void add_to_attach(FindingCode code, const QueuePolicies& queue, std::string cause, FindingDetails details) {
        const BrokerPolicy* const now = effective_.policy(queue.policy);
        if (now != nullptr && now->priority == highest_priority) {
            details.remedy = "no policy can stand above " + core::quoted(now->name) +
                             ", whose priority is the highest there is: lower it by one, and attach";
            details.command = lower_and_attach(*now, vhost_);
            details.group += '\n' + now->name;
        }
        add(code, std::move(cause), std::move(details));
    }

    /// Compiles each pattern once.
    const BrokerPattern& pattern_of(const BrokerPolicy& policy) const {
        return patterns_.try_emplace(policy.name, policy.pattern).first->second;
    }

    const core::Policy& policy_;
    const VhostPolicies& vhost_policies_;
    std::string_view vhost_;
    const AttachPlan& plan_;
    EffectivePolicy effective_;
    std::map<std::string_view, const QueuePolicies*> queues_;
    mutable std::map<std::string_view, BrokerPattern> patterns_;
};

const QueuePolicies* find(const VhostPolicies& vhost_policies, const std::string& name) {
    const auto found = std::find_if(vhost_policies.queues.begin(), vhost_policies.queues.end(),
                                    [&](const QueuePolicies& queue) { return queue.name == name; });
    return found == vhost_policies.queues.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Finding> check_work_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost) {
    const AttachPlan plan = plan_attach(policy, vhost_policies);
    WorkQueueChecker checker(policy, vhost_policies, vhost, plan);
    for (const AttachState& state : plan.queues)
        checker.check(state);
    return std::move(checker.found);
}

std::vector<Finding> check_globs(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    std::vector<Finding> found;
    for (const PlumbingQueue& each : plumbing_under_globs(policy, vhost_policies)) {
        found.emplace_back(FindingCode::plumbing_under_glob,
                           "glob " + core::quoted(each.glob) + " also names what is no work queue: queue " +
                               core::quoted(each.queue) + " " + each.why,
                           FindingDetails{.name = each.queue, .group = each.glob});
    }
    return found;
}

std::vector<Finding> check_error_queue(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost) {
    constexpr std::int64_t too_high = 10 * core::error_delivery_limit;
    const QueuePolicies* const queue = find(vhost_policies, policy.error_queue);
    if (queue == nullptr) return {};
    const std::string subject = "the error queue " + core::quoted(queue->name);
    if (queue->type != "quorum") {
        return {Finding(FindingCode::error_queue_limit,
                        subject + " has no delivery limit: it is a " + queue->type + " queue",
                        {.consequence = std::string{kind_of(FindingCode::error_queue_unlimited).consequence},
                         .remedy = "have errors.queue_type: quorum, and an error queue of another name",
                         .name = queue->name})};
    }
    const auto limit = delivery_limit_of(*queue, vhost_policies);
    if (limit && *limit >= core::republish_after_deliveries && *limit <= too_high) return {};
    const bool none = !limit || *limit > too_high;
    const BrokerPolicy* const now = EffectivePolicy(vhost_policies).policy(queue->policy);
    BrokerPolicy above{"delivery-limit-" + queue->name, names_pattern({queue->name}), "queues",
                       now == nullptr ? core::Definition{} : now->definition,
                       now == nullptr ? 0 : priority_above(now->priority)};
    above.definition["delivery-limit"] = std::to_string(core::error_delivery_limit);
    return {Finding(none ? FindingCode::error_queue_unlimited : FindingCode::error_queue_limit,
                    subject + (none ? " has no delivery limit that a message reaches"
                                    : " has a delivery limit of " + std::to_string(*limit)),
                    {.remedy = "set a policy that gives it another; it keeps what else is set there now",
                     .command = set_policy_command(above, vhost),
                     .name = queue->name})};
}

namespace {

/// Work queues whose dead letters reach other queues besides the error queue.
class OtherQueues {
  public:
    OtherQueues(const core::Policy& policy, const VhostPolicies& vhost_policies)
        : policy_(policy), effective_(vhost_policies), paths_(policy, vhost_policies) {
        for (const QueuePolicies& queue : vhost_policies.queues)
            queues_.emplace(queue.name, &queue);
    }

    void check(const QueuePolicies& work_queue) {
        const Setting set = effective_.dead_letter_exchange(work_queue);
        const auto exchange = text_of(set.value);
        if (!exchange || !leads_to_error_queue(policy_, set.value)) return;
        const DeadLetterKeys keys =
            dead_letter_keys(work_queue, effective_, paths_.graph(), returns_by_name(policy_, work_queue.name));
        std::map<std::string, std::set<RoutingKey>> others;
        for (const RoutingKey& key : keys.keys)
            add_reached(*exchange, key, others);
        if (keys.any) add_reached(*exchange, {"#", true}, others);
        for (const auto& [other, by] : others)
            add(work_queue, *exchange, *queues_.at(other), by);
    }

    std::vector<Finding> found;

  private:
    void add_reached(const std::string& exchange, const RoutingKey& key,
                     std::map<std::string, std::set<RoutingKey>>& others) const {
        for (const std::string& name : paths_.graph().reached(exchange, key).queues) {
            const auto queue = queues_.find(name);
            // Exclusive and auto-delete queues are left out: they are in use only for a while.
            const bool lasts = queue != queues_.end() && !queue->second->exclusive && !queue->second->auto_delete;
            if (lasts && !core::is_own_queue(policy_, name)) others[name].insert(key);
        }
    }

    void add(const QueuePolicies& work_queue, const std::string& exchange, const QueuePolicies& other,
             const std::set<RoutingKey>& keys) {
        if (is_queue_of_maxretry(work_queue, other, effective_))
            return;  // has a finding of its own (framework_retries.h)
        const bool itself = other.name == work_queue.name;
        const bool back = itself || returns(work_queue, other, keys);
        const std::string subject = "what work queue " + core::quoted(work_queue.name) + " rejects ";
        const std::string bound = ", bound to its dead-letter exchange " + core::quoted(exchange) + " as well";
        FindingDetails details{.name = work_queue.name, .group = exchange + '\n' + other.name + (itself ? "\n=" : "")};
        if (!back) {
            return add(FindingCode::copied_elsewhere,
                       subject + "also goes to queue " + core::quoted(other.name) + bound, std::move(details));
        }
        details.consequence = doubled(policy_, work_queue.name);
        details.remedy = "unbind queue " + core::quoted(other.name) + " from exchange " + core::quoted(exchange) +
                         (itself ? "" : "; what waits in it still comes back, once");
        add(FindingCode::sent_back_twice,
            subject + (itself ? "also comes back to it at once: it is itself" + bound
                              : "also goes to queue " + core::quoted(other.name) + bound +
                                    ", and from there back to it when its TTL is over"),
            std::move(details));
    }

    /// Whether messages return from there when their TTL is over. Rejected ones may return as well, but only its
    /// consumers know whether they reject.
    bool returns(const QueuePolicies& work_queue, const QueuePolicies& other, const std::set<RoutingKey>& keys) const {
        if (effective_.value(other, "message-ttl").source == Source::none) return false;
        const auto exchange = text_of(effective_.dead_letter_exchange(other).value);
        if (!exchange) return false;
        const Setting own = effective_.value(other, "dead-letter-routing-key");
        const auto own_key = text_of(own.value);
        const std::set<RoutingKey> then = own.source == Source::none ? keys
                                          : own_key                  ? std::set<RoutingKey>{{*own_key}}
                                                                     : std::set<RoutingKey>{};
        return std::any_of(then.begin(), then.end(), [&](const RoutingKey& key) {
            return paths_.graph().reached(*exchange, key).queues.contains(work_queue.name);
        });
    }

    void add(FindingCode code, std::string cause, FindingDetails details) {
        found.emplace_back(code, std::move(cause), std::move(details));
    }

    const core::Policy& policy_;
    EffectivePolicy effective_;
    DeadLetterPaths paths_;
    std::map<std::string, const QueuePolicies*> queues_;
};

}  // namespace

std::vector<Finding> check_other_queues(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    if (!vhost_policies.routing) return {};
    OtherQueues others(policy, vhost_policies);
    for (const QueuePolicies& queue : vhost_policies.queues) {
        if (core::match(policy, queue.name) != nullptr) others.check(queue);
    }
    return std::move(others.found);
}

std::string amqp10_note(const std::set<std::string>& work_queues) {
    if (work_queues.empty()) return "";
    constexpr std::size_t shown = 10;
    return "producers or consumers of " + folded({work_queues.begin(), work_queues.end()}, shown) +
           " speak AMQP 1.0. A message that comes back to them is not in all sections as it was: RabbitMQ makes AMQP "
           "0-9-1 of it for retryd, and AMQP 1.0 again, so that subject, to, absolute-expiry-time, group-sequence, "
           "reply-to-group-id and some types are gone (docs/reference.md, \"Messages of AMQP 1.0\"). What a consumer "
           "needs of these belongs in an application-property, as a string";
}

}  // namespace retryd::admin
