// A TLS socket set up as configured, and TLS failures in an operator's words.
#pragma once

#include <optional>
#include <string>

#include "amqp/rabbitmq.h"
#include "config/settings.h"

namespace retryd::amqp {

/// Not connected yet; belongs to `state`. TLS 1.2 at least; peer and host name are verified unless the settings say
/// otherwise. Throws Error where a file cannot be used.
amqp_socket_t* new_tls_socket(amqp_connection_state_t state, const config::Tls& tls);

/// Nothing for what has nothing to do with TLS.
std::optional<std::string> explain_tls(int status, const std::string& host);

}  // namespace retryd::amqp
