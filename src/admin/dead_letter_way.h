// Whether what a work queue rejects gets to the error queue by the exchange that it dead-letters to, and to which other
// queues it gets besides.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/routing.h"
#include "core/policy.h"

namespace retryd::admin {

/// Whether what dead-letters to that exchange, as JSON text, comes to the error queue.
bool leads_to_error_queue(const core::Policy& policy, const std::string& exchange);

/// With which keys a queue's dead letters are published.
struct DeadLetterKeys {
    std::set<RoutingKey> keys;
    bool any = false;  // and with others, which nothing tells
};

/// Its dead-letter-routing-key; without one the keys of its bindings and, where `returns_by_name`, its name: that is
/// the key of what has come back from a rung of its own.
DeadLetterKeys dead_letter_keys(const QueuePolicies& queue, const EffectivePolicy& effective, const Ways& ways,
                                bool returns_by_name);

/// Whether a rung brings messages back to it under its own name.
bool returns_by_name(const core::Policy& policy, const std::string& queue);

struct DeadLetterWay {
    std::string exchange_type;     // empty: there is no such exchange
    std::set<RoutingKey> missing;  // what has one of these does not come to the error queue
    bool keys_unknown = false;     // it does not come, with whatever key it has
};

/// As if all bindings of the configuration were there. Doubt is no fault.
class DeadLetterWays {
  public:
    DeadLetterWays(const core::Policy& policy, const VhostPolicies& vhost_policies);

    /// By an exchange that the queue dead-letters to. Nothing where routing was not asked for.
    std::optional<DeadLetterWay> way(const QueuePolicies& queue, const std::string& exchange) const;

    const Ways& ways() const { return ways_; }

  private:
    bool takes_no_key(const std::string& exchange) const;

    const core::Policy& policy_;
    const VhostPolicies& vhost_policies_;
    EffectivePolicy effective_;
    Routing routing_;
    Ways ways_;
};

/// Whether anything depends on where exchanges lead: to ask costs as much as a vhost has bindings. The bindings of the
/// error exchange cost little.
bool needs_routing(const core::Policy& policy, const VhostPolicies& vhost_policies,
                   const std::vector<core::BindingSpec>& of_error_exchange);

/// Of a direct exchange, or one whose type is not known: false where a key is a pattern, which only a topic exchange
/// can be bound with.
bool can_be_bound(const std::string& exchange_type, const std::set<RoutingKey>& keys);

/// As items of `errors.bind`, separated by commas: {exchange: "x", routing_key: "k"}
std::string bind_items(const std::string& exchange, const std::set<RoutingKey>& keys);

}  // namespace retryd::admin
