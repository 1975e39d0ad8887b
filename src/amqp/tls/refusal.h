// What OpenSSL finds while a connection is made: why it refuses the broker's certificate, or what the broker's TLS
// says.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "config/settings.h"

namespace retryd::amqp {

struct FreeCertificate {
    void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, FreeCertificate>;

/// Of one SSL_CTX, which owns it: it lives as long as the rabbitmq-c socket. Written by OpenSSL's callbacks, in the
/// thread that uses the connection.
struct TlsWatch {
    bool verify_peer = true;   // else only the host is looked at
    bool host_is_name = true;  // else an address, which is no name to ask the broker for (RFC 6066)
    int refusal = X509_V_OK;   // X509_V_ERR_…
    int depth = 0;             // of `refused`: 0 is the broker's own certificate
    Certificate refused;       // the one that the refusal is about
    bool namesake = false;     // an authority with the name of its issuer is trusted, but has not signed it
    bool asked = false;        // the broker asked for our certificate
    int alert = -1;            // the broker ended it with this TLS alert
};

/// Gives a watch to the context and turns verification on, or off where the settings want none of it: against the
/// authorities that the context trusts and the host in its X509_VERIFY_PARAM. Throws std::bad_alloc.
void watch(SSL_CTX* context, const config::Tls& tls, bool host_is_name);

/// The watch of a context that was given one.
const TlsWatch& watch_of(const SSL_CTX* context);

// Why TLS was refused, by us or by the broker, as a text: cause; remedy.

/// The broker's certificate was refused, as the watch has it.
std::string refusal_of_theirs(const TlsWatch& watch, const std::string& host, const config::Tls& tls);

/// The broker broke off after it had asked for our certificate; nothing where it did not ask. `own`: null without one.
/// What it says of the reason may get lost: with TLS 1.3 it comes when we are writing already.
std::optional<std::string> refusal_of_ours(const TlsWatch& watch, const X509* own, const config::Tls& tls);

/// The handshake failed otherwise; `error` is the last one of OpenSSL's, 0 where there was none.
std::string failed_handshake(unsigned long error);

}  // namespace retryd::amqp
