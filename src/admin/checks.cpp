#include "admin/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "admin/attach_plan.h"
#include "admin/effective_policy.h"
#include "admin/patterns.h"
#include "admin/rabbitmqctl.h"
#include "core/names.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

enum class OwnQueue { rung, detour, other };

/// A key that does harm when a policy sets it on a queue of ours, and what it does.
struct Harm {
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

constexpr std::array harms{
    Harm{"expires", "the broker deletes the rung, with all that waits on it, when it was not used for that long",
         deleted_with_all, deleted_with_all},
    Harm{"message-ttl",
         "what waits there returns to its work queue before its delay is over, where that time is the shorter one",
         "what waits there is tried again more often than it need be, where that time is the shorter one",
         "what stays there longer is thrown away, or parked by the broker as expired"},
    Harm{"max-length", dropped_when_full, dropped_when_full, thrown_away_when_full},
    Harm{"max-length-bytes", dropped_when_full, dropped_when_full, thrown_away_when_full},
    Harm{"delivery-limit", nullptr, nullptr,
         "a message that was looked at that often is thrown away, or parked by the broker"},
    Harm{"overflow",
         "the return to the work queue is at-most-once, and what the broker keeps for a queue that is full or gone is "
         "lost",
         "the return to the error queue is at-most-once", "its own dead-lettering is at-most-once"},
};

std::optional<std::int64_t> number_of(const std::string& json) {
    std::int64_t number = 0;
    const char* const end = json.data() + json.size();
    const auto [rest, error] = std::from_chars(json.data(), end, number);
    return error == std::errc{} && rest == end ? std::optional{number} : std::nullopt;
}

OwnQueue kind_of(const std::string& name) {
    if (core::looks_like_detour(name)) return OwnQueue::detour;
    return core::looks_like_rung(name) || core::looks_like_shared_rung(name) ? OwnQueue::rung : OwnQueue::other;
}

/// A policy may say what does no harm.
bool is_harmless(const std::string& key, const std::string& value, const QueuePolicies& queue, bool error_queue) {
    if (key == "delivery-limit") {
        // A limit that is too high for the error queue is the matter of check_error_queue().
        const bool high =
            error_queue ? number_of(value).value_or(0) >= core::error_delivery_limit : is_high_limit(value);
        return high || value.starts_with('-') || queue.type != "quorum";
    }
    // Of a classic queue the argument wins, and the default drops nothing where nothing is limited.
    if (key == "overflow") return value == "\"reject-publish\"" || queue.type != "quorum";
    return false;
}

class OwnQueueChecker {
  public:
    OwnQueueChecker(const core::Policy& policy, const VhostPolicies& vhost_policies, std::string_view vhost)
        : error_queue_(policy.error_queue),
          vhost_policies_(vhost_policies),
          effective_(vhost_policies),
          vhost_(vhost) {}

    std::vector<Finding> found;

    void check(const QueuePolicies& queue) {
        const OwnQueue kind = kind_of(queue.name);
        check(queue, kind, effective_.policy(queue.policy), false);
        check(queue, kind, effective_.operator_policy(queue.operator_policy), true);
    }

  private:
    void check(const QueuePolicies& queue, OwnQueue kind, const BrokerPolicy* policy, bool by_operator) {
        if (policy == nullptr) return;
        std::string settings;
        std::string consequence;
        core::Definition rest = policy->definition;
        for (const Harm& harm : harms) {
            const char* does = harm.to(kind);
            const auto set = policy->definition.find(harm.key);
            if (does == nullptr || set == policy->definition.end()) continue;
            if (is_harmless(harm.key, set->second, queue, queue.name == error_queue_)) continue;
            settings.append(settings.empty() ? "" : ", ").append(set->first).append(" ").append(set->second);
            consequence.append(consequence.empty() ? "" : "; ").append(does);
            rest.erase(harm.key);
        }
        if (settings.empty()) return;
        const std::string title = by_operator ? "operator policy" : "policy";
        found.push_back(
            {Severity::problem,
             title + ' ' + core::quoted(policy->name) + " sets " + settings + " on queue " + core::quoted(queue.name),
             consequence, remedy(queue, *policy, rest, by_operator)});
    }

    std::string remedy(const QueuePolicies& queue, const BrokerPolicy& policy, core::Definition rest,
                       bool by_operator) const {
        if (by_operator) return "give the operator policy a pattern that leaves this queue out";
        // A policy has to set something.
        if (rest.empty()) rest = harmless(queue);
        if (rest.empty()) return "give the policy a pattern that leaves this queue out";
        const BrokerPolicy above{"retryd-keeps-" + queue.name, names_pattern({queue.name}), "queues", rest,
                                 policy.priority + 1};
        return "give the policy a pattern that leaves this queue out, or put another one above it: " +
               set_policy_command(above, vhost_);
    }

    core::Definition harmless(const QueuePolicies& queue) const {
        if (queue.type != "quorum" || !features_of(vhost_policies_.version).quorum_ttl) return {};
        return {{"overflow", "\"reject-publish\""}};
    }

    const std::string& error_queue_;
    const VhostPolicies& vhost_policies_;
    EffectivePolicy effective_;
    std::string_view vhost_;
};

}  // namespace

std::vector<Finding> check_own_queues(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                      std::string_view vhost) {
    OwnQueueChecker checker(policy, vhost_policies, vhost);
    for (const QueuePolicies& queue : vhost_policies.queues) {
        if (is_own_queue(policy, queue.name)) checker.check(queue);
    }
    return std::move(checker.found);
}

namespace {

using State = AttachState::State;

constexpr const char* attach = "retryd attach prints the policy that does it, with its undo";

using core::quoted;

const QueuePolicies* find(const VhostPolicies& vhost_policies, const std::string& name) {
    const auto found = std::find_if(vhost_policies.queues.begin(), vhost_policies.queues.end(),
                                    [&](const QueuePolicies& queue) { return queue.name == name; });
    return found == vhost_policies.queues.end() ? nullptr : &*found;
}

/// Of a queue that a policy can attach, and has not, or not safely.
Finding not_attached(const QueuePolicies& queue, const core::Policy& policy, const EffectivePolicy& effective) {
    const Setting exchange = effective.dead_letter_exchange(queue);
    if (exchange.source == Source::none) {
        return {Severity::problem, "work queue " + quoted(queue.name) + " has no dead-letter exchange in effect",
                "what its consumers reject is dropped by the broker", attach};
    }
    if (!leads_to_error_queue(policy, exchange.value)) {
        return {Severity::problem,
                "work queue " + quoted(queue.name) + " dead-letters to exchange " + exchange.value + ", by policy " +
                    quoted(queue.policy),
                "what its consumers reject does not come to retryd",
                std::string{attach} + "; or name that exchange in errors.bind"};
    }
    return {Severity::warning, "quorum work queue " + quoted(queue.name) + " does not dead-letter at-least-once",
            "what it rejects can be lost on its way to the error queue when a node stops", attach};
}

/// Of a quorum queue; nothing: none. The lower one of argument and policy counts, and a negative one is none.
std::optional<std::int64_t> delivery_limit_of(const QueuePolicies& queue, const VhostPolicies& vhost_policies) {
    constexpr const char* key = "delivery-limit";
    constexpr std::int64_t default_from_4_0 = 20;
    const EffectivePolicy effective(vhost_policies);
    std::optional<std::int64_t> limit;
    bool any = false;
    const auto add = [&](const std::optional<std::int64_t>& number) {
        any = any || number;
        if (number && *number >= 0) limit = std::min(limit.value_or(*number), *number);
    };
    if (const auto by_argument = argument(queue, key)) add(number_of(*by_argument));
    for (const BrokerPolicy* policy :
         {effective.policy(queue.policy), effective.operator_policy(queue.operator_policy)}) {
        if (policy == nullptr) continue;
        const auto set = policy->definition.find(key);
        if (set != policy->definition.end()) add(number_of(set->second));
    }
    if (!any && features_of(vhost_policies.version).default_delivery_limit) return default_from_4_0;
    return limit;
}

/// RabbitMQ 4.3 and later.
void add_native_retry(std::vector<Finding>& found, const QueuePolicies& queue, const EffectivePolicy& effective) {
    const Setting type = effective.value(queue, "delayed-retry-type");
    if (type.source == Source::none || type.value == "\"disabled\"") return;
    found.push_back(
        {Severity::warning,
         "work queue " + quoted(queue.name) + " has RabbitMQ's own delayed retry in effect, of type " + type.value,
         "what its consumers requeue is delayed by the broker, besides what they reject and retryd "
         "delays: each message is delayed by both, one after the other",
         "take delayed-retry-type out of its policy or arguments, or the queue out of the configuration"});
}

}  // namespace

std::vector<Finding> check_work_queues(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    std::vector<Finding> found;
    const EffectivePolicy effective(vhost_policies);
    for (const AttachState& state : plan_attach(policy, vhost_policies).queues) {
        const QueuePolicies* queue = find(vhost_policies, state.queue);
        if (queue == nullptr) {
            found.push_back({Severity::warning, "work queue " + quoted(state.queue) + " does not exist",
                             "no message can die in it, and what waits on its rungs cannot return to it",
                             "declare it, or correct its name in the configuration"});
            continue;
        }
        if (state.state == State::to_attach) found.push_back(not_attached(*queue, policy, effective));
        if (state.state == State::out_of_reach) {
            found.push_back({Severity::problem, "work queue " + quoted(state.queue) + ": " + state.note, "", ""});
        } else if (!state.note.empty()) {
            found.push_back({Severity::warning, "work queue " + quoted(state.queue) + ": " + state.note, "", ""});
        }
        add_native_retry(found, *queue, effective);
    }
    return found;
}

std::vector<Finding> check_error_queue(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                       std::string_view vhost) {
    constexpr std::int64_t too_high = 10 * core::error_delivery_limit;
    const QueuePolicies* const queue = find(vhost_policies, policy.error_queue);
    if (queue == nullptr) return {};
    const std::string stays =
        "a message that RabbitMQ cannot hand over (from AMQP 1.0, MQTT or STOMP) stays in it, and stops all retries";
    if (queue->type != "quorum") {
        return {{Severity::warning,
                 "the error queue " + quoted(queue->name) + " has no delivery limit: it is a " + queue->type + " queue",
                 stays, "have errors.queue_type: quorum, and an error queue of another name"}};
    }
    const auto limit = delivery_limit_of(*queue, vhost_policies);
    if (limit && *limit >= core::worn_after && *limit <= too_high) return {};
    const bool none = !limit || *limit > too_high;
    const BrokerPolicy* const now = EffectivePolicy(vhost_policies).policy(queue->policy);
    BrokerPolicy above{"delivery-limit-" + queue->name, names_pattern({queue->name}), "queues",
                       now == nullptr ? core::Definition{} : now->definition, now == nullptr ? 0 : now->priority + 1};
    above.definition["delivery-limit"] = std::to_string(core::error_delivery_limit);
    return {{none ? Severity::problem : Severity::warning,
             "the error queue " + quoted(queue->name) +
                 (none ? " has no delivery limit that a message reaches"
                       : " has a delivery limit of " + std::to_string(*limit)),
             none ? stays : "messages that were in flight when so many connections were lost are parked by the broker",
             set_policy_command(above, vhost)}};
}

}  // namespace retryd::admin
