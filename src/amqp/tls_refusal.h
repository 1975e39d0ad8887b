// Why TLS was refused, by us or by the broker, as a text: cause; remedy.
#pragma once

#include <optional>
#include <string>

#include "amqp/tls_watch.h"
#include "config/settings.h"

namespace retryd::amqp {

/// The broker's certificate was refused, as the watch has it.
std::string refusal_of_theirs(const TlsWatch& watch, const std::string& host, const config::Tls& tls);

/// The broker broke off after it had asked for our certificate; nothing where it did not ask. `own`: null without one.
/// What it says of the reason may get lost: with TLS 1.3 it comes when we are writing already.
std::optional<std::string> refusal_of_ours(const TlsWatch& watch, const X509* own, const config::Tls& tls);

/// The handshake failed otherwise; `error` is the last one of OpenSSL's, 0 where there was none.
std::string failed_handshake(unsigned long error);

}  // namespace retryd::amqp
