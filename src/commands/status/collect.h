// What waits where at one moment: the broker is asked for each queue by name, and the daemon for what only it knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "commands/common/broker.h"
#include "config/settings.h"
#include "core/policy.h"
#include "telemetry/status.h"

namespace retryd::commands {

/// What the running daemon answers at /status.json, or why it does not and what it takes.
using DaemonAnswer = std::variant<telemetry::Status, std::string>;

/// Asks it where its configuration lets it listen; waits two seconds at most.
DaemonAnswer ask_daemon(const config::Settings& settings);

/// `body`: of the answer to /status.json.
DaemonAnswer read_daemon_answer(const std::string& body);

struct StatusReport {
    BrokerIdentity broker;
    telemetry::QueueDepth errors;
    telemetry::QueueDepth catch_all;
    std::vector<telemetry::QueueStatus> queues;  // the busiest first
    std::vector<telemetry::LadderStatus> ladders;
    std::optional<telemetry::Status> daemon;
    std::vector<std::string> not_seen;  // each with what it takes
};

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs);
std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue);

/// Changes nothing. A rung counts with the one for high priorities. The work queues of globs are those of which the
/// management API knows a rung or a parking queue, and those that the daemon names. Throws amqp::Error when the
/// connection is lost.
StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon);

}  // namespace retryd::commands
