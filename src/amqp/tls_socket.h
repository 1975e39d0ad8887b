// A TLS socket set up as configured, and why TLS was refused while a connection was made, by us or by the broker, in an
// operator's words: cause; remedy.
//
// Of a refusal rabbitmq-c only says that it was one. So OpenSSL's own callbacks write down what they find, for each
// SSL_CTX, and it is put into words afterwards.
//
// The PEM files of broker.tls are read anew for every connection: what was replaced on disk counts from the next one
// on.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "amqp/rabbitmq.h"
#include "config/settings.h"

struct ssl_st;  // OpenSSL's SSL

namespace retryd::amqp {

/// Not connected yet; belongs to `state`. TLS 1.2 at least. OpenSSL verifies the peer, and that its certificate is for
/// `host`, a name or an address, unless the settings say otherwise. Throws Error where a file cannot be used.
amqp_socket_t* new_tls_socket(amqp_connection_state_t state, const std::string& host, const config::Tls& tls);

/// Why a connection over a socket of new_tls_socket() did not come about: cause and remedy. To be asked at once, in the
/// same thread. Nothing for a status that has nothing to do with TLS.
std::optional<std::string> explain_tls(amqp_socket_t* socket, int status, const std::string& host,
                                       const config::Tls& tls);

/// The names by which a broker may know the certificate of such a socket: subject and common name. Empty without one.
struct OwnNames {
    std::string subject;
    std::string common_name;
};
OwnNames own_names(amqp_socket_t* socket);

/// What such a socket writes to, once it is connected; lives as long as the socket. rabbitmq-c does not hand it out,
/// and its own sends wait. From now on rabbitmq-c must only read.
ssl_st* tls_stream(amqp_socket_t* socket);

/// As send(2) without waiting: how many bytes were taken, or -1 and errno, EAGAIN where there is no room. What was
/// refused for lack of room has to be offered again before anything else, from wherever it lies by then.
ssize_t send_through(ssl_st* stream, std::string_view bytes);

/// As recv(2) without waiting: how many bytes came, 0 at the end, or -1 and errno, EAGAIN where nothing is there. For a
/// connection that rabbitmq-c does not read from.
ssize_t receive_through(ssl_st* stream, char* to, std::size_t size);

}  // namespace retryd::amqp
