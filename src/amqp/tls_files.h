// The PEM files of broker.tls, read anew for every connection: what was replaced on disk counts from the next one on.
#pragma once

#include <openssl/ssl.h>

#include "config/settings.h"

namespace retryd::amqp {

/// Whom the context trusts: ca_file, else the system's authorities. Throws Error.
void trust(SSL_CTX* context, const config::Tls& tls);

/// Who the context is: cert_file and key_file, if there are any. Throws Error that says what is wrong with them.
void identify(SSL_CTX* context, const config::Tls& tls);

}  // namespace retryd::amqp
