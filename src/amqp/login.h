// The AMQP handshake: who we are, what we can do, and what a refusal means.
#pragma once

#include <chrono>
#include <string>

#include "amqp/rabbitmq.h"
#include "config/settings.h"

namespace retryd::amqp {

/// On a connected socket, within the handshake timeout. Throws Error: refused_login or unreachable.
void log_in(amqp_connection_state_t state, const config::Endpoint& endpoint, std::chrono::seconds heartbeat,
            const std::string& name);

}  // namespace retryd::amqp
