// Counts what waits and what is parked: asks the broker for each queue by name.
#pragma once

#include "commands/broker.h"
#include "commands/status_state.h"
#include "core/policy.h"

namespace retryd::commands {

/// Changes nothing. The work queues of globs are those of which the management API knows a rung or a parking queue, and
/// those that the daemon names. The busiest first. Throws amqp::Error when the connection is lost.
Status take_stock(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon);

}  // namespace retryd::commands
