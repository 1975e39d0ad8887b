#include "amqp/tls_refusal.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "amqp/certificate.h"

namespace retryd::amqp {
namespace {

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

/// "its certificate", or the one above it in the chain that the refusal is about.
std::string which(const TlsWatch& watch) {
    if (watch.depth == 0) return "its certificate";
    return "the certificate of its authority " + quoted(subject_of(watch.refused.get()));
}

std::string trusted(const config::Tls& tls) {
    return tls.ca_file.empty() ? "the authorities of this system" : "broker.tls.ca_file " + tls.ca_file;
}

std::string way_out(const config::Tls& tls) {
    if (tls.ca_file.empty()) return "; if you know that authority, name its certificate with broker.tls.ca_file";
    return "; put that authority's certificate there, or, if one above it is there already, have the broker send those "
           "between (its ssl_options.certfile)";
}

std::string wrong_host(const TlsWatch& watch, const std::string& host) {
    const std::string hosts = hosts_of(watch.refused.get());
    const std::string made =
        "have one made with subjectAltName=" + std::string{watch.host_is_name ? "DNS:" : "IP:"} + host;
    if (hosts.empty()) return "its certificate is for no host at all; " + made;
    return "its certificate is for " + hosts + ", not for " + host + "; connect by what stands in it, or " + made;
}

std::string unknown_issuer(const TlsWatch& watch, const config::Tls& tls) {
    const X509* const refused = watch.refused.get();
    const std::string issuer = quoted(issuer_of(refused));
    const bool by_itself = X509_NAME_cmp(X509_get_subject_name(refused), X509_get_issuer_name(refused)) == 0;
    if (by_itself && watch.depth == 0) {
        return "its certificate " + issuer + " is signed by itself, and is not in " + trusted(tls) +
               "; if it is the right one, name it with broker.tls.ca_file";
    }
    const std::string leads_to = by_itself ? "its certificate goes back to " : which(watch) + " is signed by ";
    if (!watch.namesake) return leads_to + issuer + ", which is not in " + trusted(tls) + way_out(tls);
    return leads_to + "an authority called " + issuer + ", which is not the one of that name in " + trusted(tls) +
           ": two keys, one name, as after an authority was made anew; name the one that signed it with "
           "broker.tls.ca_file";
}

std::string untimely(const TlsWatch& watch) {
    const X509* const refused = watch.refused.get();
    const std::string clocks = "see that the clocks of both machines are right";
    if (watch.refusal == X509_V_ERR_CERT_NOT_YET_VALID) {
        return which(watch) + " is valid only from " + time_of(X509_get0_notBefore(refused)) + " on; " + clocks;
    }
    const std::string where = watch.depth == 0
                                  ? "have a new one made for the broker"
                                  : "have it renewed where it lies: in ca_file or in what the broker sends";
    return which(watch) + " expired on " + time_of(X509_get0_notAfter(refused)) + "; " + where + ", and " + clocks;
}

}  // namespace

std::string refusal_of_theirs(const TlsWatch& watch, const std::string& host, const config::Tls& tls) {
    const std::string words = X509_verify_cert_error_string(watch.refusal);
    if (!watch.refused) return "its certificate is refused: " + words;
    switch (watch.refusal) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return wrong_host(watch, host);
        case X509_V_ERR_CERT_HAS_EXPIRED:
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return untimely(watch);
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return unknown_issuer(watch, tls);
        case X509_V_ERR_INVALID_PURPOSE:
            return which(watch) + " is not one for a server; have one made with extendedKeyUsage=serverAuth";
        case X509_V_ERR_INVALID_CA:
            return "its certificate is signed by " + quoted(subject_of(watch.refused.get())) +
                   ", which is no authority (basicConstraints=CA:TRUE is missing); have it signed by one";
        default:
            return which(watch) + " is refused: " + words + "; have a new one made";
    }
}

std::optional<std::string> refusal_of_ours(const TlsWatch& watch, const X509* own, const config::Tls& tls) {
    if (!watch.asked) return std::nullopt;
    if (own == nullptr) {
        return "it wants a certificate of retryd; name one, and its key, with broker.tls.cert_file and key_file";
    }
    const std::string name =
        "retryd's certificate " + quoted(subject_of(own)) + " (broker.tls.cert_file " + tls.cert_file + ")";
    const std::string about =
        ". It is signed by " + quoted(issuer_of(own)) + " and valid until " + time_of(X509_get0_notAfter(own));
    const std::string trust = "the broker has to trust that authority (its ssl_options.cacertfile)";
    const std::string log = "the broker's log says why";
    if (watch.alert < 0) return "it broke off when it had " + name + about + "; " + log + ", and " + trust;
    return "it refuses " + name + ": " + SSL_alert_desc_string_long(watch.alert) + about + "; " +
           (watch.alert == SSL_AD_UNKNOWN_CA ? trust : log);
}

std::string failed_handshake(unsigned long error) {
    const char* const words = ERR_reason_error_string(error);
    if (ERR_GET_LIB(error) != ERR_LIB_SSL || words == nullptr) {
        return "the other side ended the TLS handshake; see that this is the broker's TLS port (5671, as a rule), and "
               "what "
               "its log says";
    }
    switch (ERR_GET_REASON(error)) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
            return "what answers there speaks no TLS; connect to the broker's TLS port (5671, as a rule)";
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
            return "it speaks no TLS 1.2 or later, and retryd nothing older; allow it in the broker's "
                   "ssl_options.versions";
        default:
            return std::string{"the TLS handshake failed: "} + words + "; the broker's log may say more";
    }
}

}  // namespace retryd::amqp
