// Opening a connection: name to socket to TLS to login, every refusal in an operator's words.
#pragma once

#include <optional>
#include <string>

#include "amqp/frame_socket.h"
#include "amqp/rabbitmq.h"
#include "config/settings.h"
#include "core/broker_features.h"

namespace retryd::amqp {

// What the server is, as it says itself in connection.start: RabbitMQ, of which version, or something else that speaks
// AMQP 0-9-1. All that retryd relies on was tried on RabbitMQ alone, and a version stands for what that version of
// RabbitMQ does: another server's 2.9 is no old RabbitMQ.

/// The texts as they came; empty where there is none.
struct Server {
    std::string product;   // RabbitMQ; LavinMQ
    std::string platform;  // Erlang/OTP 27.3.4; Crystal 1.16.3
    std::string version;   // 4.3.6
};

/// Of a connection whose connection.start has come.
Server server_of(amqp_connection_state_t state);

/// Nothing where it says none that can be read.
std::optional<core::BrokerVersion> version_of(const Server& server);

/// Why retryd does not use a server, after "the server at HOST:PORT "; empty for a RabbitMQ that says its version. A
/// name of its own may be configured for a RabbitMQ (server_properties): Erlang as its platform tells it then.
std::string why_not_used(const Server& server);

/// Connected, over TLS where the endpoint says so, but not logged in. Throws Error: unreachable or insecure.
RawConnection open_socket(const config::Endpoint& endpoint, const config::Broker& settings);

/// Logged in to the endpoint's vhost. Throws Error: unreachable, insecure, refused_login or other_server. The connect
/// timeout covers everything except the look-up of the host's name, which the C library cannot be kept from taking its
/// time for.
RawConnection connect(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name);

}  // namespace retryd::amqp
