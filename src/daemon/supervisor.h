// Session after session: connects, runs, and after a fault waits and connects again, over all brokers in turn.
#pragma once

#include <functional>

#include "config/settings.h"
#include "daemon/stop.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// Uniform in [0, 1).
using Dice = std::function<double()>;

/// Returns when stop is requested and the last session has ended. Never throws: a fault of the broker or the network
/// is logged once when it begins and once when it is over, and tried again.
void supervise(const config::Settings& settings, telemetry::Log& log, const Stop& stop, const Dice& dice);

}  // namespace retryd::daemon
