// What this process uses, as the system tells it.
#pragma once

#include <cstdint>

namespace retryd::telemetry {

struct Process {
    double cpu_seconds = 0.0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t open_files = 0;
};

/// At this moment. What cannot be found out is 0.
Process this_process();

}  // namespace retryd::telemetry
