// Session after session: connects, runs, and after a fault waits and connects again, over all brokers in turn.
#pragma once

#include "daemon/session.h"

namespace retryd::daemon {

/// Returns when a stop is requested and the last session has ended. Never throws: a fault of the broker or the network
/// is logged once when it begins and once when it is over, and tried again.
void supervise(const SessionContext& context);

}  // namespace retryd::daemon
