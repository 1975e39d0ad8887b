// What becomes of a message that a queue takes back again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "core/topology.h"

namespace retryd::admin {

struct AtLimit {
    enum class Fate {
        unknown,
        stays,          // no limit that a message reaches
        dead_lettered,  // to a queue
        deleted,        // there is a limit, and nothing behind it that is known to be a queue
    };
    Fate fate = Fate::unknown;
    std::string why = {};          // of unknown
    std::string exchange = {};     // that a limit sends it to; empty also for the default exchange
    std::string routing_key = {};  // with which, as JSON text; empty: with its own
};

/// Of a quorum queue; nothing: none. The lower one of argument and policy counts, and a negative one is none.
std::optional<std::int64_t> delivery_limit_of(const QueuePolicies& queue, const VhostPolicies& vhost_policies);

/// As far as policies and arguments tell. Whether a queue gets what is sent to the exchange has to be asked beside.
AtLimit at_limit(const VhostPolicies& vhost_policies, const std::string& queue);

/// Whether it is certain that what comes from `queue` by that exchange gets to another queue, whatever its routing key.
bool reaches_another_queue(const AtLimit& found, const std::string& queue, const std::string& exchange_type,
                           const std::vector<core::BindingSpec>& bindings);

}  // namespace retryd::admin
