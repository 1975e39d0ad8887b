// What Prometheus reads: /metrics. Every name is in docs/reference.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::telemetry {

/// What this process uses, as the system tells it.
struct Process {
    double cpu_seconds = 0.0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t open_files = 0;
};

/// What cannot be found out is 0.
Process this_process();

/// Parked messages that were older than their entry allows.
struct AgedCount {
    std::string queue;    // the parking queue
    std::string outcome;  // archived, dropped
    std::uint64_t messages = 0;
};

/// All that /metrics shows, at one moment.
struct Measured {
    std::string version;
    core::WallTime started{};
    Counts counts;
    std::vector<Depth> depths;
    std::vector<HeldStatus> held;
    std::vector<AgedCount> aged;
    bool connected = false;
    bool blocked = false;
    std::uint64_t reconnects = 0;
    std::uint64_t reloads = 0;           // that were taken
    std::uint64_t refused_reloads = 0;   // the file was wrong
    std::optional<ChecksStatus> checks;  // nothing where none are made
    Process process;
};

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// In Prometheus' text format; its content type is `metrics_type`.
std::string metrics_text(const Measured& measured);

}  // namespace retryd::telemetry
