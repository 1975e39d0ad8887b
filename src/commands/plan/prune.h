// `retryd apply --prune`: deletes rungs that are left over, unless they may still be published to or hold a message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/plan/topology_diff.h"
#include "core/policy.h"

namespace retryd::commands {

/// A left-over rung that was not deleted.
struct KeptRung {
    std::string queue;
    std::string why;
    bool operator==(const KeptRung&) const = default;
};

struct PruneResult {
    std::string refused;  // why nothing was deleted at all; empty if pruning was allowed
    std::vector<std::string> deleted;
    std::vector<KeptRung> kept;
};

/// Is told what is being waited for.
using PruneProgress = std::function<void(const std::string&)>;

/// Throws amqp::Error; a fault of the management API counts as a refusal. The broker must have a management API.
PruneResult prune(Broker& broker, const core::Policy& policy, const PruneProgress& progress);

/// Why nothing may be deleted: the error queue has a consumer that is not a daemon with this configuration. What such a
/// daemon publishes to a queue while it is being deleted is confirmed by the broker, and lost. `amqp_count`: the number
/// of consumers of the error queue as AMQP reports it.
std::optional<std::string> why_not_prune(const core::Policy& policy, const std::vector<http::ListedConsumer>& consumers,
                                         std::size_t amqp_count);

}  // namespace retryd::commands
