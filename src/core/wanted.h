// Everything that a configuration wants on the broker before the first message comes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/broker_features.h"
#include "core/policy.h"
#include "core/topology.h"

namespace retryd::core {

struct Wanted {
    enum class Role {
        error_exchange,
        catch_all,
        error_queue,
        error_binding,  // of the error exchange, or of a dead-letter exchange of somebody else's
        return_exchange,
        rung_exchange,  // before a shared rung
        rung,
        rung_binding,
        parking,
        parking_exchange,  // somebody else's
        home_binding,
    };
    Role role = Role::error_exchange;
    /// What it serves: one of the two, or neither where it serves all.
    std::string work_queue;  // a glob where it is the same for all its queues
    std::string ladder;      // whose work queues share it
    TopologyItem item;
    bool operator==(const Wanted&) const = default;
};

std::string_view to_string(Wanted::Role role);

/// The name of an exchange or a queue; `exchange → queue` for a binding.
std::string name_of(const TopologyItem& item);

/// In the order of declaring, nothing twice. Of a glob only what is the same for every queue that it matches; the rungs
/// of messages with a high priority, which are made when the first one comes, are not among them.
std::vector<Wanted> wanted(const Policy& policy, const BrokerFeatures& features);

/// The entries whose rungs are declared when the first message of a queue comes.
std::vector<const Entry*> on_demand(const Policy& policy);

}  // namespace retryd::core
