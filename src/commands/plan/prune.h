// Deletes rungs that are left over, and none that may still be published to or that holds a message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/plan/topology_diff.h"
#include "core/policy.h"

namespace retryd::commands {

/// A rung that is left over and was not deleted.
struct KeptRung {
    std::string queue;
    std::string why;
    bool operator==(const KeptRung&) const = default;
};

struct PruneResult {
    std::string refused;  // why nothing was deleted at all; else empty
    std::vector<std::string> deleted;
    std::vector<KeptRung> kept;
};

/// Is told what takes its time.
using PruneProgress = std::function<void(const std::string&)>;

/// Throws amqp::Error; a fault of the management API is a refusal. The broker must have one.
PruneResult prune(Broker& broker, const core::Policy& policy, const PruneProgress& progress);

/// Why nothing may be deleted: a consumer that is no daemon with this configuration. What a daemon publishes to a queue
/// that is just deleted is confirmed by the broker, and lost. `amqp_count`: the error queue's consumers as AMQP counts
/// them.
std::optional<std::string> why_not_prune(const core::Policy& policy, const std::vector<http::ListedConsumer>& consumers,
                                         std::size_t amqp_count);

}  // namespace retryd::commands
