// What happens to a message that is returned to its queue again and again: the delivery limit in effect, and where it
// leads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "core/topology.h"

namespace retryd::admin {

/// What becomes of a message that exceeds the delivery limit.
struct LimitEffect {
    enum class Fate {
        unknown,
        stays,          // it stays: there is no limit that a message could reach
        dead_lettered,  // it is dead-lettered to a queue
        deleted,        // it is deleted: there is a limit, and no queue is known to be behind it
    };
    Fate fate = Fate::unknown;
    std::string why = {};          // why it is unknown
    std::string exchange = {};     // the dead-letter exchange; also empty for the default exchange
    std::string routing_key = {};  // the dead-letter-routing-key as JSON text; empty: the message keeps its own
};

/// The delivery limit of a quorum queue; nothing if it has none. The lower one of argument and policy counts, and a
/// negative one means no limit.
std::optional<std::int64_t> delivery_limit_of(const QueuePolicies& queue, const VhostPolicies& vhost_policies);

/// What policies and arguments tell. Whether a queue is bound to the exchange has to be asked separately.
LimitEffect limit_effect(const VhostPolicies& vhost_policies, const std::string& queue);

/// Whether a dead letter of `queue` reaches another queue through that exchange for certain, whatever its routing key
/// is.
bool reaches_another_queue(const LimitEffect& found, const std::string& queue, const std::string& exchange_type,
                           const std::vector<core::BindingSpec>& bindings);

}  // namespace retryd::admin
