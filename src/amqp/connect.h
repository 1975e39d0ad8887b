// Opening a connection: name to socket to TLS to login, every refusal in an operator's words.
#pragma once

#include <string>

#include "amqp/frame_socket.h"
#include "config/settings.h"

namespace retryd::amqp {

/// Connected, over TLS where the endpoint says so, but not logged in. Throws Error: unreachable or insecure.
RawConnection open_socket(const config::Endpoint& endpoint, const config::Broker& settings);

/// Logged in to the endpoint's vhost. Throws Error: unreachable, insecure, refused_login or other_server. The connect
/// timeout covers everything except the look-up of the host's name, which the C library cannot be kept from taking its
/// time for.
RawConnection connect(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name);

}  // namespace retryd::amqp
