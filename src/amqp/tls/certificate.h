// What a certificate says, as text. Anybody may have made it, so all of it comes out safe (core/safe_text.h), and cut.
#pragma once

#include <openssl/x509.h>

#include <string>

namespace retryd::amqp {

/// 'CN=a.example,O=Example' (RFC 2253), without the quotes.
std::string subject_of(const X509* certificate);
std::string issuer_of(const X509* certificate);

/// The user's name where a broker takes the common name for it; empty where there is none.
std::string common_name_of(const X509* certificate);

/// The hosts it is for: `a.example, b.example, 10.0.0.1 and 7 more`; empty where there is none. A common name counts
/// only where no DNS name stands in it, as OpenSSL has it.
std::string hosts_of(const X509* certificate);

/// Whether that is an IPv4 or IPv6 address rather than a name: a certificate lists them apart.
bool is_ip_address(const std::string& text);

/// 2026-03-01T12:00:00Z.
std::string time_of(const ASN1_TIME* time);

}  // namespace retryd::amqp
