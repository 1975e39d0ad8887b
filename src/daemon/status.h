// Builds telemetry::Status, and the depths for the metrics, from state, counters, depths and history. Pure.
#pragma once

#include <vector>

#include "config/settings.h"
#include "daemon/held_queues.h"
#include "daemon/queue_depths.h"
#include "daemon/state.h"
#include "telemetry/history.h"
#include "telemetry/status.h"

namespace retryd::daemon {

inline constexpr std::size_t most_queues_shown = 1'000;

struct StatusSources {
    DaemonState::Snapshot state;
    const config::Settings& settings;
    telemetry::Counts counts;
    QueueDepthPoller::Snapshot seen;
    telemetry::History::Lately lately;
};

/// Everything except the process's own data: version, times, file.
telemetry::Status status_of(const StatusSources& sources);

std::vector<telemetry::HeldStatus> status_of(const std::vector<HeldQueues::Shown>& held);

/// The depths that are known now.
std::vector<telemetry::Depth> depths_of(const QueueDepthPoller::Snapshot& seen);

}  // namespace retryd::daemon
