// The AMQP handshake: who we are, what we can do, and what a refusal means.
#pragma once

#include <string>

#include "amqp/rabbitmq.h"
#include "config/settings.h"

namespace retryd::amqp {

/// On a connected socket, within the handshake timeout. Throws Error: refused_login, insecure or unreachable.
void log_in(amqp_connection_state_t state, const config::Endpoint& endpoint, const config::Broker& settings,
            const std::string& name);

}  // namespace retryd::amqp
