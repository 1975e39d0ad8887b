// What dead-letters to the error queue and to other queues as well.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "admin/checks.h"
#include "admin/dead_letter_way.h"
#include "admin/framework_retries.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

class OtherQueues {
  public:
    OtherQueues(const core::Policy& policy, const VhostPolicies& vhost_policies)
        : policy_(policy), effective_(vhost_policies), ways_(policy, vhost_policies) {
        for (const QueuePolicies& queue : vhost_policies.queues)
            queues_.emplace(queue.name, &queue);
    }

    void check(const QueuePolicies& work_queue) {
        const Setting set = effective_.dead_letter_exchange(work_queue);
        const auto exchange = text_of(set.value);
        if (!exchange || !leads_to_error_queue(policy_, set.value)) return;
        const DeadLetterKeys keys =
            dead_letter_keys(work_queue, effective_, ways_.ways(), returns_by_name(policy_, work_queue.name));
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
        for (const std::string& name : ways_.ways().reached(exchange, key).queues) {
            const auto queue = queues_.find(name);
            // One that goes with its connection is in use at this moment.
            const bool lasts = queue != queues_.end() && !queue->second->exclusive && !queue->second->auto_delete;
            if (lasts && !core::is_own_queue(policy_, name)) others[name].insert(key);
        }
    }

    void add(const QueuePolicies& work_queue, const std::string& exchange, const QueuePolicies& other,
             const std::set<RoutingKey>& keys) {
        if (is_queue_of_maxretry(work_queue, other, effective_)) return;  // told as such (framework_retries.h)
        const bool itself = other.name == work_queue.name;
        const bool back = itself || returns(work_queue, other, keys);
        const std::string subject = "what work queue " + core::quoted(work_queue.name) + " rejects ";
        const std::string bound = ", bound to its dead-letter exchange " + core::quoted(exchange) + " as well";
        FindingDetails details{.name = work_queue.name, .group = exchange + '\n' + other.name + (itself ? "\n=" : "")};
        if (!back) {
            return add(FindingCode::copied_elsewhere,
                       subject + "goes to queue " + core::quoted(other.name) + " besides" + bound, std::move(details));
        }
        details.consequence = doubled(policy_, work_queue.name);
        details.remedy = "unbind queue " + core::quoted(other.name) + " from exchange " + core::quoted(exchange) +
                         (itself ? "" : "; what waits in it still comes back, once");
        add(FindingCode::sent_back_twice,
            subject + (itself ? "comes back to it at once besides: it is itself" + bound
                              : "goes to queue " + core::quoted(other.name) + " besides" + bound +
                                    ", and from there back to it when its TTL is over"),
            std::move(details));
    }

    /// By its TTL: what is rejected there may come back as well, but that is for its consumers to say.
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
            return ways_.ways().reached(*exchange, key).queues.contains(work_queue.name);
        });
    }

    void add(FindingCode code, std::string cause, FindingDetails details) {
        found.emplace_back(code, std::move(cause), std::move(details));
    }

    const core::Policy& policy_;
    EffectivePolicy effective_;
    DeadLetterWays ways_;
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

}  // namespace retryd::admin
