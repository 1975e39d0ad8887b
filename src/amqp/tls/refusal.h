// Why TLS was refused while a connection was made, by us or by the broker, as a text: cause; remedy.
//
// rabbitmq-c only says that it failed. So OpenSSL's own callbacks write down what they find, for each SSL_CTX, and it
// is put into words afterwards.
#pragma once

#include <openssl/ssl.h>

#include <optional>
#include <string>

#include "config/settings.h"

namespace retryd::amqp {

/// Has everything written down that may explain a refusal, and turns verification on, or off where the settings want
/// none of it: against the authorities that the context trusts and the host in its X509_VERIFY_PARAM. `host_is_name`:
/// else it is an address, which is no name to ask the broker for (RFC 6066). Throws std::bad_alloc.
void watch_handshake(SSL_CTX* context, const config::Tls& tls, bool host_is_name);

/// Why it was refused, from a context that was watched. To be asked at once, in the same thread. Nothing where nobody
/// has refused anything; `handshake_failed`: OpenSSL's own last error counts, too.
std::optional<std::string> explain_handshake(const SSL_CTX* context, const std::string& host, const config::Tls& tls,
                                             bool handshake_failed);

/// The connection that was last begun with a context that was watched.
SSL* watched_stream(const SSL_CTX* context);

}  // namespace retryd::amqp
