#include <array>
#include <utility>

#include "core/diagnosis.h"
#include "core/effective.h"
#include "core/names.h"
#include "core/queue_pattern.h"
#include "core/rabbitmqctl.h"

namespace retryd::core {
namespace {

enum class OwnQueue { rung, kept };

/// A key that does harm when a policy sets it on a queue of ours, and what it does.
struct Harm {
    const char* key;
    const char* to_rung;  // null: none
    const char* to_kept;  // error queue, catch-all and parking queues
};

constexpr const char* dropped_when_full =
    "when it is full, messages are thrown away, sent home too early, or refused and held in the error queue";

constexpr std::array harms{
    Harm{"expires", "the broker deletes the rung, with all that waits on it, when it was not used for that long",
         "the broker deletes the queue, with all that is in it, when it was not used for that long"},
    Harm{"message-ttl", "what waits there goes home before its delay is over, where that time is the shorter one",
         "what stays there longer is thrown away, or parked by the broker as expired"},
    Harm{"max-length", dropped_when_full, "when it is full, messages are thrown away or refused"},
    Harm{"max-length-bytes", dropped_when_full, "when it is full, messages are thrown away or refused"},
    Harm{"delivery-limit", nullptr, "a message that was looked at that often is thrown away, or parked by the broker"},
    Harm{"overflow", "the way home is at-most-once, and what the broker keeps for a queue that is full or gone is lost",
         "its own dead-lettering is at-most-once"},
};

bool is_rung(const std::string& name) {
    return looks_like_rung(name) || looks_like_shared_rung(name);
}

/// A policy may say what does no harm.
bool is_harmless(const std::string& key, const std::string& value, const GovernedQueue& queue) {
    if (key == "delivery-limit") return value.starts_with('-') || queue.type != "quorum";
    // Of a classic queue the argument wins, and the default drops nothing where nothing is limited.
    if (key == "overflow") return value == "\"reject-publish\"" || queue.type != "quorum";
    return false;
}

class Examination {
  public:
    Examination(const Governance& governance, std::string_view vhost)
        : governance_(governance), effective_(governance), vhost_(vhost) {}

    std::vector<Diagnosis> found;

    void look_at(const GovernedQueue& queue) {
        const OwnQueue kind = is_rung(queue.name) ? OwnQueue::rung : OwnQueue::kept;
        look_at(queue, kind, effective_.policy(queue.policy), false);
        look_at(queue, kind, effective_.operator_policy(queue.operator_policy), true);
    }

  private:
    void look_at(const GovernedQueue& queue, OwnQueue kind, const BrokerPolicy* policy, bool by_operator) {
        if (policy == nullptr) return;
        std::string settings;
        std::string consequence;
        Definition rest = policy->definition;
        for (const Harm& harm : harms) {
            const char* does = kind == OwnQueue::rung ? harm.to_rung : harm.to_kept;
            const auto set = policy->definition.find(harm.key);
            if (does == nullptr || set == policy->definition.end()) continue;
            if (is_harmless(harm.key, set->second, queue)) continue;
            settings.append(settings.empty() ? "" : ", ").append(set->first).append(" ").append(set->second);
            consequence.append(consequence.empty() ? "" : "; ").append(does);
            rest.erase(harm.key);
        }
        if (settings.empty()) return;
        const std::string title = by_operator ? "operator policy" : "policy";
        found.push_back({true, title + " '" + policy->name + "' sets " + settings + " on queue '" + queue.name + "'",
                         consequence, remedy(queue, *policy, rest, by_operator)});
    }

    std::string remedy(const GovernedQueue& queue, const BrokerPolicy& policy, Definition rest,
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

    Definition harmless(const GovernedQueue& queue) const {
        if (queue.type != "quorum" || !features_of(governance_.version).quorum_ttl) return {};
        return {{"overflow", "\"reject-publish\""}};
    }

    const Governance& governance_;
    Effective effective_;
    std::string_view vhost_;
};

}  // namespace

std::vector<Diagnosis> diagnose_own_queues(const Policy& policy, const Governance& governance, std::string_view vhost) {
    Examination examination(governance, vhost);
    for (const GovernedQueue& queue : governance.queues) {
        if (is_own_queue(policy, queue.name)) examination.look_at(queue);
    }
    return std::move(examination.found);
}

}  // namespace retryd::core
