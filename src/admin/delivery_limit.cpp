#include "admin/delivery_limit.h"

#include <algorithm>

#include "core/text.h"

namespace retryd::admin {
namespace {

const QueuePolicies* queue_named(const VhostPolicies& vhost_policies, const std::string& name) {
    const auto found = std::find_if(vhost_policies.queues.begin(), vhost_policies.queues.end(),
                                    [&](const QueuePolicies& queue) { return queue.name == name; });
    return found == vhost_policies.queues.end() ? nullptr : &*found;
}

/// The default exchange routes to the queue that is called like the key. Its own queue does not count: the message
/// would be there again.
bool leads_to_a_queue(const QueuePolicies& from, const VhostPolicies& vhost_policies) {
    const Setting key = EffectivePolicy(vhost_policies).value(from, "dead-letter-routing-key");
    return std::any_of(vhost_policies.queues.begin(), vhost_policies.queues.end(), [&](const QueuePolicies& queue) {
        return queue.name != from.name && core::json_string(queue.name) == key.value;
    });
}

}  // namespace

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

LimitEffect limit_effect(const VhostPolicies& vhost_policies, const std::string& queue) {
    using Fate = LimitEffect::Fate;
    constexpr std::int64_t out_of_reach = 10 * core::error_delivery_limit;
    const QueuePolicies* const found = queue_named(vhost_policies, queue);
    if (found == nullptr) return {Fate::unknown, "the management API does not list that queue"};
    if (found->type != "quorum") return {Fate::stays};
    const auto limit = delivery_limit_of(*found, vhost_policies);
    if (!limit || *limit > out_of_reach) return {Fate::stays};
    const EffectivePolicy effective(vhost_policies);
    const auto exchange = text_of(effective.dead_letter_exchange(*found).value);
    if (!exchange) return {Fate::deleted};
    if (exchange->empty()) return {leads_to_a_queue(*found, vhost_policies) ? Fate::dead_lettered : Fate::deleted};
    return {Fate::dead_lettered, "", *exchange, effective.value(*found, "dead-letter-routing-key").value};
}

bool reaches_another_queue(const LimitEffect& found, const std::string& queue, const std::string& exchange_type,
                           const std::vector<core::BindingSpec>& bindings) {
    return std::any_of(bindings.begin(), bindings.end(), [&](const core::BindingSpec& binding) {
        if (binding.queue == queue) return false;
        if (exchange_type == "fanout") return true;
        if (exchange_type == "topic" && binding.routing_key == "#") return true;
        const bool by_key = exchange_type == "topic" || exchange_type == "direct";
        return by_key && core::json_string(binding.routing_key) == found.routing_key;
    });
}

}  // namespace retryd::admin
