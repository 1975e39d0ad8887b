// Policies as RabbitMQ applies them: of those that match, and that the queue's type can take as a whole, the one with
// the highest priority.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/patterns.h"

namespace retryd::test {

class FakePolicies {
  public:
    core::BrokerVersion version{4, 0, 5};
    std::vector<admin::BrokerPolicy> policies;
    std::vector<admin::BrokerPolicy> operator_policies;
    std::optional<admin::Routing> routing;

    void add(const std::string& name, const std::string& type, core::Arguments arguments = {}) {
        queues_.push_back({name, type, std::move(arguments), "", ""});
    }
    void add_rung(const std::string& work_queue, const std::string& delay, std::int64_t milliseconds,
                  const std::string& type = "quorum") {
        add(work_queue + ".retry." + delay, type,
            {{"x-message-ttl", milliseconds},
             {"x-dead-letter-exchange", ""},
             {"x-dead-letter-routing-key", work_queue}});
    }
    void remove(const std::string& name) {
        std::erase_if(queues_, [&](const admin::QueuePolicies& queue) { return queue.name == name; });
    }
    void add_exclusive(const std::string& name) { queues_.push_back({name, "classic", {}, "", "", true}); }

    void add_auto_delete(const std::string& name) { queues_.push_back({name, "classic", {}, "", "", false, true}); }
    void add_exchange(const std::string& name, const std::string& type) {
        if (!routing) routing.emplace();
        routing->exchanges[name] = {type};
    }
    /// Of a queue.
    void bind(const std::string& queue, const std::string& exchange, const std::string& key) {
        if (!routing) routing.emplace();
        routing->bindings.push_back({exchange, queue, false, key, false});
    }

    void set(const admin::BrokerPolicy& policy) {
        std::erase_if(policies, [&](const admin::BrokerPolicy& old) { return old.name == policy.name; });
        policies.push_back(policy);
    }

    admin::VhostPolicies vhost_policies() const {
        admin::VhostPolicies found{version, queues_, policies, operator_policies, routing};
        for (admin::QueuePolicies& queue : found.queues) {
            queue.policy = in_effect(policies, queue);
            queue.operator_policy = in_effect(operator_policies, queue);
        }
        return found;
    }

    /// The definition in effect on that queue, operator policies aside.
    core::Definition on(const std::string& queue) const {
        for (const admin::QueuePolicies& each : queues_) {
            if (each.name != queue) continue;
            for (const admin::BrokerPolicy& policy : policies) {
                if (policy.name == in_effect(policies, each)) return policy.definition;
            }
        }
        return {};
    }

  private:
    static bool applies(const admin::BrokerPolicy& policy, const admin::QueuePolicies& queue) {
        if (policy.apply_to == "exchanges" || queue.type == "stream") return false;
        const bool quorum_keys =
            policy.definition.count("dead-letter-strategy") + policy.definition.count("delivery-limit") > 0;
        if (queue.type == "classic" && quorum_keys) return false;
        // As there: one that takes for ever does not match.
        return admin::BrokerPattern(policy.pattern).matches(queue.name) == true;
    }

    static std::string in_effect(const std::vector<admin::BrokerPolicy>& all, const admin::QueuePolicies& queue) {
        const admin::BrokerPolicy* best = nullptr;
        for (const admin::BrokerPolicy& policy : all) {
            const bool better = best == nullptr || policy.priority > best->priority;
            if (better && applies(policy, queue)) best = &policy;
        }
        return best == nullptr ? "" : best->name;
    }

    std::vector<admin::QueuePolicies> queues_;
};

}  // namespace retryd::test
