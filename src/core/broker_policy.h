// Policies as a broker has them, and which of them is in effect where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/broker_features.h"
#include "core/json_text.h"
#include "core/topology.h"

namespace retryd::core {

struct BrokerPolicy {
    std::string name;
    std::string pattern;              // a regular expression
    std::string apply_to = "queues";  // all, queues, exchanges; since 3.12 also classic_queues and so on
    Definition definition;
    std::int64_t priority = 0;  // of those that match, the highest alone is in effect
    bool operator==(const BrokerPolicy&) const = default;
};

/// A queue and the policies in effect on it.
struct GovernedQueue {
    std::string name;
    std::string type;  // classic, quorum, stream
    Arguments arguments;
    std::string policy;           // empty: none
    std::string operator_policy;  // empty: none
    bool exclusive = false;
};

/// All of a vhost.
struct Governance {
    BrokerVersion version;
    std::vector<GovernedQueue> queues;
    std::vector<BrokerPolicy> policies;
    std::vector<BrokerPolicy> operator_policies;
};

}  // namespace retryd::core
