#include "admin/dead_letter_path.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace retryd::admin {

bool leads_to_error_queue(const core::Policy& policy, const std::string& exchange) {
    if (exchange == core::json_string(policy.error_exchange)) return true;
    return std::any_of(policy.error_bindings.begin(), policy.error_bindings.end(),
                       [&](const core::ErrorBinding& bound) { return core::json_string(bound.exchange) == exchange; });
}

namespace {

constexpr const char* any_key = "#";

Routing with_bindings_of(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    Routing routing = vhost_policies.routing.value_or(Routing{});
    routing.exchanges.try_emplace(policy.error_exchange, BrokerExchange{"fanout"});
    routing.bindings.push_back({policy.error_exchange, policy.error_queue, false, "", false});
    for (const core::ErrorBinding& bound : policy.error_bindings)
        routing.bindings.push_back({bound.exchange, policy.error_queue, false, bound.routing_key, false});
    return routing;
}

bool has_wildcard(const std::string& key) {
    return key.find_first_of("*#") != std::string::npos;
}

}  // namespace

bool returns_by_name(const core::Policy& policy, const std::string& queue) {
    const core::Entry* const entry = core::match(policy, queue);
    return entry != nullptr && entry->ladder.return_path == core::ReturnPath::queue;
}

DeadLetterKeys dead_letter_keys(const QueuePolicies& queue, const EffectivePolicy& effective, const RoutingGraph& graph,
                                bool returns_by_name) {
    const Setting set = effective.value(queue, "dead-letter-routing-key");
    if (set.source != Source::none) {
        const auto key = text_of(set.value);
        return key ? DeadLetterKeys{{{*key}}, false} : DeadLetterKeys{{}, true};
    }
    DeadLetterKeys found;
    for (const BrokerBinding* const binding : graph.bindings_to(queue.name)) {
        const std::string type = graph.type_of(binding->source);
        if (type == "direct" || type == "topic") {
            found.keys.insert({binding->routing_key, type == "topic" && has_wildcard(binding->routing_key)});
        } else {
            found.any = true;
        }
    }
    if (returns_by_name || (found.keys.empty() && !found.any)) found.keys.insert({queue.name});
    return found;
}

DeadLetterPaths::DeadLetterPaths(const core::Policy& policy, const VhostPolicies& vhost_policies)
    : policy_(policy),
      vhost_policies_(vhost_policies),
      effective_(vhost_policies),
      routing_(with_bindings_of(policy, vhost_policies)),
      graph_(routing_) {}

std::optional<DeadLetterPath> DeadLetterPaths::path(const QueuePolicies& queue, const std::string& exchange) const {
    if (!vhost_policies_.routing) return std::nullopt;
    DeadLetterPath found{graph_.type_of(exchange), {}, false};
    const DeadLetterKeys keys = dead_letter_keys(queue, effective_, graph_, returns_by_name(policy_, queue.name));
    for (const RoutingKey& key : keys.keys) {
        const Reached reached = graph_.reached(exchange, key);
        if (!reached.doubtful && !reached.queues.contains(policy_.error_queue)) found.missing.insert(key);
    }
    found.keys_unknown = keys.any && takes_no_key(exchange);
    return found;
}

/// Whether the error queue is bound to a direct exchange with `#`, as if it were a topic exchange: there `#` is an
/// ordinary key, and no message has it.
bool DeadLetterPaths::takes_no_key(const std::string& exchange) const {
    if (graph_.type_of(exchange) != "direct") return false;
    const auto known = routing_.exchanges.find(exchange);
    if (known == routing_.exchanges.end() || !known->second.alternate.empty()) return false;
    return std::all_of(routing_.bindings.begin(), routing_.bindings.end(), [&](const BrokerBinding& binding) {
        if (binding.source != exchange) return true;
        return !binding.to_exchange && (binding.destination != policy_.error_queue || binding.routing_key == any_key);
    });
}

bool needs_routing(const core::Policy& policy, const VhostPolicies& vhost_policies,
                   const std::vector<core::BindingSpec>& of_error_exchange) {
    if (!policy.error_bindings.empty()) return true;
    const bool others = std::any_of(of_error_exchange.begin(), of_error_exchange.end(),
                                    [&](const core::BindingSpec& each) { return each.queue != policy.error_queue; });
    const EffectivePolicy effective(vhost_policies);
    return others ||
           std::any_of(vhost_policies.queues.begin(), vhost_policies.queues.end(), [&](const QueuePolicies& queue) {
               const Setting exchange = effective.dead_letter_exchange(queue);
               const bool fixed = exchange.source == Source::argument;
               const bool may_lead_to_source = exchange.source != Source::none && !policy.sources.empty();
               return (fixed || may_lead_to_source) && !leads_to_error_queue(policy, exchange.value) &&
                      core::match(policy, queue.name) != nullptr;
           });
}

bool can_be_bound(const std::string& exchange_type, const std::set<RoutingKey>& keys) {
    return exchange_type == "topic" ||
           std::none_of(keys.begin(), keys.end(), [](const RoutingKey& key) { return key.pattern; });
}

std::string bind_items(const std::string& exchange, const std::set<RoutingKey>& keys) {
    std::string items;
    for (const RoutingKey& key : keys) {
        items.append(items.empty() ? "" : ", ").append("{exchange: ").append(core::json_string(exchange));
        items.append(", routing_key: ").append(core::json_string(key.text)).append("}");
    }
    return items;
}

}  // namespace retryd::admin
