// The metrics for Prometheus at /metrics. All names are in docs/reference.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::telemetry {

/// The resources that this process uses.
struct Process {
    double cpu_seconds = 0.0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t open_files = 0;
};

/// Values that cannot be found out are 0.
Process this_process();

/// The number of parked messages that were taken out because of their age (`parked_age`).
struct AgedCount {
    std::string queue;    // the parking queue
    std::string outcome;  // archived, dropped
    std::uint64_t messages = 0;
};

/// A snapshot of everything that /metrics shows.
struct Measured {
    std::string version;
    core::WallTime started{};
    Counts counts;
    std::vector<Depth> depths;
    std::vector<HeldStatus> held;
    std::vector<AgedCount> aged;
    bool connected = false;
    bool blocked = false;
    bool error_queue_silent = false;
    std::uint64_t reconnects = 0;
    std::uint64_t reloads = 0;           // successful reloads
    std::uint64_t refused_reloads = 0;   // reloads with a wrong file
    std::optional<ChecksStatus> checks;  // nothing if no checks are made
    Process process;
};

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// Prometheus's text format; its content type is `metrics_type`.
std::string metrics_text(const Measured& measured);

}  // namespace retryd::telemetry
