// What is declared on the broker, computed: names and arguments. Doing it is amqp's part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::core {

using Argument = std::variant<std::int64_t, std::string>;
using Arguments = std::vector<std::pair<std::string, Argument>>;

/// A durable queue, neither exclusive nor auto-deleted.
struct QueueSpec {
    std::string name;
    Arguments arguments;
    /// Arguments that may be missing on a queue that is already there: a queue made under 3.x keeps its arguments
    /// through the upgrade to 4.x, where we would add x-delivery-limit. Accepted, with a warning that names the policy.
    std::vector<std::string> optional_arguments;
    bool operator==(const QueueSpec&) const = default;
};

QueueSpec error_queue_spec(const Policy& policy, const BrokerFeatures& features);
/// A parking queue, the catch-all included: quorum, no TTL, never a limit on looks.
QueueSpec parking_queue_spec(std::string name, const BrokerFeatures& features);
/// The rung of one delay for one work queue; after the TTL the message goes home through the default exchange.
QueueSpec rung_spec(const Ladder& ladder, std::string_view work_queue, Milliseconds delay, bool high_priority,
                    const BrokerFeatures& features);

/// A ladder's delays without repetition, in the order of their first use.
std::vector<Milliseconds> distinct_delays(const Ladder& ladder);

}  // namespace retryd::core
