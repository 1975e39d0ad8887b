// Opening a connection: name to socket to TLS to login, every refusal in an operator's words.
#pragma once

#include <string>

#include "amqp/frame_socket.h"
#include "amqp/rabbitmq.h"
#include "config/settings.h"

namespace retryd::amqp {

/// Logged in to the endpoint's vhost. Throws Error: unreachable, insecure or refused_login. The connect timeout covers
/// everything except the look-up of the host's name, which the C library cannot be kept from taking its time for.
State connect(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name);

/// host:port, as errors name it.
std::string peer_of(const config::Endpoint& endpoint);

/// Why a TCP connection does not come about, found by trying: "Connection refused", "Name or service not known".
/// rabbitmq-c only says that there was a socket error. Empty if it does come about now.
std::string why_unreachable(const std::string& host, std::uint16_t port);

// The AMQP handshake: who we are, what we can do, and what a refusal means.

/// On a connected socket, within the handshake timeout. Throws Error: refused_login, insecure or unreachable.
void log_in(amqp_connection_state_t state, const config::Endpoint& endpoint, const config::Broker& settings,
            const std::string& name);

}  // namespace retryd::amqp
