// How long a message takes from its rejection to its rung.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stage.h"

namespace retryd::bench {

struct TimeToRung {
    std::size_t probes = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double p999_ms = 0;
    double max_ms = 0;
    double background = 0;  // messages a second that were carried to another rung meanwhile
};

/// A contender must be running. The stage has two work queues with rungs of their own: probes are rejected in the
/// first; `background` messages a second come into the error queue as if rejected in the second.
TimeToRung time_to_rung(Stage& stage, std::uint32_t probes, double background = 0);

void to_json(nlohmann::json& json, const TimeToRung& time);

}  // namespace retryd::bench
