// The permissions that retryd's user needs, as RabbitMQ takes them: regular expressions that let it do its work and
// nothing else.
#pragma once

#include "core/permissions.h"
#include "core/policy.h"

namespace retryd::core {

/// Enough for the daemon on every version, with any delays on its ladders, so that a changed ladder takes no new
/// permission. `declares`: it makes its queues itself.
///
/// A work queue's name so long that its rung's is shortened is matched only where its glob ends with a star.
Permissions daemon_permissions(const Policy& policy, bool declares);

/// What a person who works on parked messages needs: to take from parking queues, to send home, and a queue for the
/// time of a replay.
Permissions replay_permissions(const Policy& policy);

}  // namespace retryd::core
