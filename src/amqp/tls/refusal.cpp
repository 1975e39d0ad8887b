#include "amqp/tls/refusal.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <new>

#include "amqp/tls/certificate.h"

namespace retryd::amqp {
namespace {

// ── What OpenSSL finds ──────────────────────────────────────────────────────────────────────────────────────────

struct FreeCertificate {
    void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, FreeCertificate>;

/// Of one SSL_CTX, which owns it: it lives as long as the rabbitmq-c socket. Written by OpenSSL's callbacks, in the
/// thread that uses the connection.
struct Findings {
    bool verify_peer = true;   // else only the host is looked at
    bool host_is_name = true;  // else an address, which is no name to ask the broker for (RFC 6066)
    int refusal = X509_V_OK;   // X509_V_ERR_…
    int depth = 0;             // of `refused`: 0 is the broker's own certificate
    Certificate refused;       // the one that the refusal is about
    bool namesake = false;     // an authority with the name of its issuer is trusted, but has not signed it
    bool asked = false;        // the broker asked for our certificate
    int alert = -1;            // the broker ended it with this TLS alert
    SSL* stream = nullptr;     // whose handshake it is
};

void free_findings(void*, void* findings, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<Findings*>(findings);
}

int slot() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_findings);
    if (index < 0) throw std::bad_alloc();
    return index;
}

Findings& findings_of(const SSL* ssl) {
    return *static_cast<Findings*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot()));
}

bool is_about_host(int error) {
    return error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

struct FreeStack {
    void operator()(STACK_OF(X509) * certificates) const noexcept { sk_X509_pop_free(certificates, X509_free); }
};

bool knows_issuer_by_name(X509_STORE_CTX* store, X509* certificate) {
    const std::unique_ptr<STACK_OF(X509), FreeStack> found(
        X509_STORE_CTX_get1_certs(store, X509_get_issuer_name(certificate)));
    return found && sk_X509_num(found.get()) > 0;
}

/// Called for every certificate and every error in it; 0 ends the handshake. Without verify_peer only an error in the
/// host does, and there is one only where the host is to be verified.
int on_verified(int fine, X509_STORE_CTX* store) {
    if (fine == 1) return 1;
    const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    Findings& findings = findings_of(ssl);
    const int error = X509_STORE_CTX_get_error(store);
    if (!findings.verify_peer && !is_about_host(error)) return 1;
    findings.refusal = error;
    findings.depth = X509_STORE_CTX_get_error_depth(store);
    X509* const refused = X509_STORE_CTX_get_current_cert(store);
    if (refused == nullptr) return 0;
    X509_up_ref(refused);
    findings.refused.reset(refused);
    findings.namesake = knows_issuer_by_name(store, refused);
    return 0;
}

void on_progress(const SSL* ssl, int where, int what) {
    Findings& findings = findings_of(ssl);
    findings.stream = const_cast<SSL*>(ssl);
    if ((where & SSL_CB_HANDSHAKE_START) != 0 && !findings.host_is_name) {
        // rabbitmq-c asks for every host by name. Here the SSL is its own, and before its first word.
        SSL_set_tlsext_host_name(const_cast<SSL*>(ssl), nullptr);
    }
    constexpr int fatal = 2;
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && what >> 8 == fatal) findings.alert = what & 0xff;
}

int on_asked(SSL* ssl, void*) {
    findings_of(ssl).asked = true;
    return 1;
}

// ── In words ────────────────────────────────────────────────────────────────────────────────────────────────────

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

/// "its certificate", or the one above it in the chain that the refusal is about.
std::string which(const Findings& findings) {
    if (findings.depth == 0) return "its certificate";
    return "the certificate of its authority " + quoted(subject_of(findings.refused.get()));
}

std::string trusted(const config::Tls& tls) {
    return tls.ca_file.empty() ? "the authorities of this system" : "broker.tls.ca_file " + tls.ca_file;
}

std::string way_out(const config::Tls& tls) {
    if (tls.ca_file.empty()) return "; if you know that authority, name its certificate with broker.tls.ca_file";
    return "; put that authority's certificate there, or, if one above it is there already, have the broker send those "
           "between (its ssl_options.certfile)";
}

std::string wrong_host(const Findings& findings, const std::string& host) {
    const std::string hosts = hosts_of(findings.refused.get());
    const std::string made =
        "have one made with subjectAltName=" + std::string{findings.host_is_name ? "DNS:" : "IP:"} + host;
    if (hosts.empty()) return "its certificate is for no host at all; " + made;
    return "its certificate is for " + hosts + ", not for " + host + "; connect by what stands in it, or " + made;
}

std::string unknown_issuer(const Findings& findings, const config::Tls& tls) {
    const X509* const refused = findings.refused.get();
    const std::string issuer = quoted(issuer_of(refused));
    const bool by_itself = X509_NAME_cmp(X509_get_subject_name(refused), X509_get_issuer_name(refused)) == 0;
    if (by_itself && findings.depth == 0) {
        return "its certificate " + issuer + " is signed by itself, and is not in " + trusted(tls) +
               "; if it is the right one, name it with broker.tls.ca_file";
    }
    const std::string leads_to = by_itself ? "its certificate goes back to " : which(findings) + " is signed by ";
    if (!findings.namesake) return leads_to + issuer + ", which is not in " + trusted(tls) + way_out(tls);
    return leads_to + "an authority called " + issuer + ", which is not the one of that name in " + trusted(tls) +
           ": two keys, one name, as after an authority was made anew; name the one that signed it with "
           "broker.tls.ca_file";
}

std::string untimely(const Findings& findings) {
    const X509* const refused = findings.refused.get();
    const std::string clocks = "see that the clocks of both machines are right";
    if (findings.refusal == X509_V_ERR_CERT_NOT_YET_VALID) {
        return which(findings) + " is valid only from " + time_of(X509_get0_notBefore(refused)) + " on; " + clocks;
    }
    const std::string where = findings.depth == 0
                                  ? "have a new one made for the broker"
                                  : "have it renewed where it lies: in ca_file or in what the broker sends";
    return which(findings) + " expired on " + time_of(X509_get0_notAfter(refused)) + "; " + where + ", and " + clocks;
}

/// We have refused the broker's certificate.
std::string refusal_of_theirs(const Findings& findings, const std::string& host, const config::Tls& tls) {
    const std::string words = X509_verify_cert_error_string(findings.refusal);
    if (!findings.refused) return "its certificate is refused: " + words;
    switch (findings.refusal) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return wrong_host(findings, host);
        case X509_V_ERR_CERT_HAS_EXPIRED:
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return untimely(findings);
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return unknown_issuer(findings, tls);
        case X509_V_ERR_INVALID_PURPOSE:
            return which(findings) + " is not one for a server; have one made with extendedKeyUsage=serverAuth";
        case X509_V_ERR_INVALID_CA:
            return "its certificate is signed by " + quoted(subject_of(findings.refused.get())) +
                   ", which is no authority (basicConstraints=CA:TRUE is missing); have it signed by one";
        default:
            return which(findings) + " is refused: " + words + "; have a new one made";
    }
}

/// The broker broke off after it had asked for our certificate; nothing where it did not ask. `own`: null without one.
/// What it says of the reason may get lost: with TLS 1.3 it comes when we are writing already.
std::optional<std::string> refusal_of_ours(const Findings& findings, const X509* own, const config::Tls& tls) {
    if (!findings.asked) return std::nullopt;
    if (own == nullptr) {
        return "it wants a certificate of retryd; name one, and its key, with broker.tls.cert_file and key_file";
    }
    const std::string name =
        "retryd's certificate " + quoted(subject_of(own)) + " (broker.tls.cert_file " + tls.cert_file + ")";
    const std::string about =
        ". It is signed by " + quoted(issuer_of(own)) + " and valid until " + time_of(X509_get0_notAfter(own));
    const std::string trust = "the broker has to trust that authority (its ssl_options.cacertfile)";
    const std::string log = "the broker's log says why";
    if (findings.alert < 0) return "it broke off when it had " + name + about + "; " + log + ", and " + trust;
    return "it refuses " + name + ": " + SSL_alert_desc_string_long(findings.alert) + about + "; " +
           (findings.alert == SSL_AD_UNKNOWN_CA ? trust : log);
}

/// The handshake failed otherwise; `error` is the last one of OpenSSL's, 0 where there was none.
std::string failed_handshake(unsigned long error) {
    const char* const words = ERR_reason_error_string(error);
    if (ERR_GET_LIB(error) != ERR_LIB_SSL || words == nullptr) {
        return "the other side ended the TLS handshake; see that this is the broker's TLS port (5671, as a rule), and "
               "what its log says";
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

}  // namespace

void watch_handshake(SSL_CTX* context, const config::Tls& tls, bool host_is_name) {
    auto findings = std::make_unique<Findings>();
    findings->verify_peer = tls.verify_peer;
    findings->host_is_name = host_is_name;
    if (SSL_CTX_set_ex_data(context, slot(), findings.get()) != 1) throw std::bad_alloc();
    static_cast<void>(findings.release());
    const bool verify = tls.verify_peer || tls.verify_hostname;
    SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &on_verified);
    SSL_CTX_set_info_callback(context, &on_progress);
    SSL_CTX_set_cert_cb(context, &on_asked, nullptr);
}

SSL* watched_stream(const SSL_CTX* context) {
    return static_cast<const Findings*>(SSL_CTX_get_ex_data(context, slot()))->stream;
}

std::optional<std::string> explain_handshake(const SSL_CTX* context, const std::string& host, const config::Tls& tls,
                                             bool handshake_failed) {
    const auto& findings = *static_cast<const Findings*>(SSL_CTX_get_ex_data(context, slot()));
    if (findings.refusal != X509_V_OK) return refusal_of_theirs(findings, host, tls);
    if (auto refusal = refusal_of_ours(findings, SSL_CTX_get0_certificate(context), tls)) return refusal;
    if (!handshake_failed) return std::nullopt;
    return failed_handshake(ERR_peek_last_error());
}

}  // namespace retryd::amqp
