// Builds telemetry::Status and the metrics' depths from state, counters, depths and history. Pure.
#pragma once

#include <vector>

#include "config/settings.h"
#include "daemon/held_queues.h"
#include "daemon/history.h"
#include "daemon/queue_depths.h"
#include "daemon/state.h"
#include "telemetry/status.h"

namespace retryd::daemon {

inline constexpr std::size_t most_queues_shown = 1'000;

struct StatusSources {
    DaemonState::Snapshot state;
    const config::Settings& settings;
    telemetry::Counts counts;
    QueueDepthPoller::Snapshot seen;
    History::Lately lately;
};

/// All but what is the process' own: version, times, the file.
telemetry::Status status_of(const StatusSources& sources);

std::vector<telemetry::HeldStatus> status_of(const std::vector<HeldQueues::Shown>& held);

/// Those that are known at the moment.
std::vector<telemetry::Depth> depths_of(const QueueDepthPoller::Snapshot& seen);

}  // namespace retryd::daemon
