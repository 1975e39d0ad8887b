// Looks at a broker: what of a configuration is there. Changes nothing.
#pragma once

#include "commands/broker.h"
#include "commands/plan_state.h"
#include "core/policy.h"

namespace retryd::commands {

/// Throws amqp::Error; a fault of the management API is part of the plan.
Plan survey(Broker& broker, const core::Policy& policy);

}  // namespace retryd::commands
