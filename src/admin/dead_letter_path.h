// Whether the dead letters of a work queue reach the error queue through their dead-letter exchange, and which other
// queues they reach.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/routing.h"
#include "core/policy.h"

namespace retryd::admin {

/// Whether dead letters to that exchange (JSON text) reach the error queue.
bool leads_to_error_queue(const core::Policy& policy, const std::string& exchange);

/// The routing keys of a queue's dead letters.
struct DeadLetterKeys {
    std::set<RoutingKey> keys;
    bool any = false;  // there may be others that cannot be known
};

/// Its dead-letter-routing-key. Without one: the keys of its bindings and, if `returns_by_name`, its own name, which is
/// the key of a message that has come back from a rung of its own.
DeadLetterKeys dead_letter_keys(const QueuePolicies& queue, const EffectivePolicy& effective, const RoutingGraph& graph,
                                bool returns_by_name);

/// Whether its rungs send messages back with the queue's name as the routing key.
bool returns_by_name(const core::Policy& policy, const std::string& queue);

struct DeadLetterPath {
    std::string exchange_type;     // empty: the exchange does not exist
    std::set<RoutingKey> missing;  // dead letters with these keys do not reach the error queue
    bool keys_unknown = false;     // they do not reach it with any key
};

/// Assumes that all bindings of the configuration exist. If it is in doubt, it reports nothing.
class DeadLetterPaths {
  public:
    DeadLetterPaths(const core::Policy& policy, const VhostPolicies& vhost_policies);

    /// Through the dead-letter exchange of that queue. Nothing if the routing is not known.
    std::optional<DeadLetterPath> path(const QueuePolicies& queue, const std::string& exchange) const;

    const RoutingGraph& graph() const { return graph_; }

  private:
    bool takes_no_key(const std::string& exchange) const;

    const core::Policy& policy_;
    const VhostPolicies& vhost_policies_;
    EffectivePolicy effective_;
    Routing routing_;
    RoutingGraph graph_;
};

/// Whether the routing has to be asked for at all: that costs as much as the vhost has bindings. Asking for the
/// bindings of the error exchange alone costs little.
bool needs_routing(const core::Policy& policy, const VhostPolicies& vhost_policies,
                   const std::vector<core::BindingSpec>& of_error_exchange);

/// False for a direct exchange, or one of unknown type, if a key is a pattern: only a topic exchange can be bound with
/// a pattern.
bool can_be_bound(const std::string& exchange_type, const std::set<RoutingKey>& keys);

/// As items of `errors.bind`, separated by commas: {exchange: "x", routing_key: "k"}
std::string bind_items(const std::string& exchange, const std::set<RoutingKey>& keys);

}  // namespace retryd::admin
