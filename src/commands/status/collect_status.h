// What `retryd status` tells: the messages on each rung and in the parking queues, counted by the broker, and what the
// daemon reports about itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/daemon.h"
#include "core/policy.h"
#include "telemetry/status.h"

namespace retryd::commands {

/// Messages that stay on a rung because their work queue has not taken them.
struct HeldMessages {
    std::string rung;
    std::string serves;  // the work queue; for a shared rung, the ladder
    std::uint64_t messages = 0;
    bool gone = false;  // the work queue does not exist
    bool operator==(const HeldMessages&) const = default;
};

struct StatusReport {
    BrokerIdentity broker;
    telemetry::QueueDepth errors;
    bool errors_unconsumed = false;  // although the daemon runs: then there may be any number
    telemetry::QueueDepth catch_all;
    std::vector<telemetry::RungStatus> detours;
    std::vector<telemetry::QueueStatus> queues;  // the busiest first
    std::vector<telemetry::LadderStatus> ladders;
    std::vector<HeldMessages> held;
    std::vector<telemetry::HeldStatus>
        outages;  // for work queues whose messages may be held, and for others that have held messages
    std::optional<telemetry::Status> daemon;
    std::string no_daemon;                // why the daemon does not answer, although it is configured to
    std::vector<std::string> leaderless;  // queues of which no number is known, for they have no leader now
    std::vector<std::string> not_seen;    // what could not be seen, each with what it takes to see it
};

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs);
bool any_unknown(const std::vector<telemetry::RungStatus>& rungs);
std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue);
/// Nothing waits and nothing is parked, as far as is known.
bool is_quiet(const telemetry::QueueStatus& queue);

/// Changes nothing. The rung for high priorities is counted with its ordinary rung. For globs, the work queues are
/// those of which the management API lists a rung or a parking queue, and those that the daemon names. `expected`: the
/// configuration says where the daemon answers. Throws amqp::Error when the connection is lost.
StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon,
                            bool expected = false);

}  // namespace retryd::commands
