// One measurement: a backlog moved from the error queue to the rungs, seen from outside.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "backlog.h"
#include "contender.h"

namespace retryd::bench {

struct Measurement {
    double rate = 0;           // messages a second, from the first one seen on the rung to the last
    double cpu_us = 0;         // of the contender, a message
    double broker_cpu_us = 0;  // of the broker, a message
    long peak_kib = 0;         // of the contender's largest process, since it started
    std::string note;          // what was lost or doubled; empty: exactly everything arrived
};

/// Resets the stage, starts the contender, makes the backlog, waits until it is on the rungs, ends the contender,
/// counts.
Measurement measure_backlog(Stage& stage, Contender& contender, const Load& load);

void to_json(nlohmann::json& json, const Measurement& measured);

}  // namespace retryd::bench
