#include "amqp/tls_socket.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509err.h>
#include <openssl/x509v3.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amqp/error.h"
#include "core/safe_text.h"
#include "core/text.h"

namespace retryd::amqp {
namespace {

// ── What a certificate says ─────────────────────────────────────────────────────────────────────────────────────────
//
// Anybody may have made it, so all of it comes out safe (core/safe_text.h), and cut.

constexpr std::size_t longest_name = 200;
constexpr std::size_t longest_host = 64;
constexpr std::size_t most_hosts = 5;
/// What RFC 2253 escapes, and UTF-8 where it can be; what cannot be shown is escaped as everywhere in retryd.
constexpr unsigned long name_flags = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_UTF8_CONVERT;
constexpr unsigned long dn_flags =
    XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_ESC_MSB);

struct FreeBio {
    void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};

struct FreeNames {
    void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
};

std::string printed(std::size_t longest, const std::function<void(BIO*)>& print) {
    const std::unique_ptr<BIO, FreeBio> bio(BIO_new(BIO_s_mem()));
    if (!bio) throw std::bad_alloc();
    print(bio.get());
    char* data = nullptr;
    const long length = BIO_get_mem_data(bio.get(), &data);
    if (length <= 0) return {};
    const std::string_view text{data, static_cast<std::size_t>(length)};
    const std::string_view shown = core::utf8_prefix(text, longest);
    return core::safe_line(shown) + (shown.size() < text.size() ? "..." : "");
}

std::string text_of(const ASN1_STRING* string) {
    return printed(longest_host, [&](BIO* bio) { ASN1_STRING_print_ex(bio, string, name_flags); });
}

std::string text_of(const X509_NAME* name) {
    return printed(longest_name, [&](BIO* bio) { X509_NAME_print_ex(bio, name, 0, dn_flags); });
}

/// Whether that is an IPv4 or IPv6 address rather than a name: a certificate lists them apart.
bool is_ip_address(const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
           inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

std::string name_of(const ASN1_STRING* string) {
    const std::string name = text_of(string);
    return is_ip_address(name) ? name + " (written as a name, which no address is compared with)" : name;
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
    const int length = ASN1_STRING_length(bytes);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (length != 4 && length != 16) return "no address";
    inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text.data(), text.size());
    return text.data();
}

const ASN1_STRING* common_name(const X509* certificate) {
    const X509_NAME* const subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    return at < 0 ? nullptr : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
}

struct Hosts {
    std::vector<std::string> shown;
    int more = 0;
    bool any_dns = false;

    void add(std::string host) {
        shown.size() < most_hosts ? shown.push_back(std::move(host)) : static_cast<void>(++more);
    }
};

void read_alternative_names(const X509* certificate, Hosts& hosts) {
    const std::unique_ptr<GENERAL_NAMES, FreeNames> names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_DNS) {
            hosts.any_dns = true;
            hosts.add(name_of(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            hosts.add(address_of(name->d.iPAddress));
        }
    }
}

/// 'CN=a.example,O=Example' (RFC 2253), without the quotes.
std::string subject_of(const X509* certificate) {
    return text_of(X509_get_subject_name(certificate));
}

std::string issuer_of(const X509* certificate) {
    return text_of(X509_get_issuer_name(certificate));
}

/// The user's name where a broker takes the common name for it; empty where there is none.
std::string common_name_of(const X509* certificate) {
    const ASN1_STRING* const name = common_name(certificate);
    return name == nullptr ? std::string{} : text_of(name);
}

/// The hosts it is for: `a.example, b.example, 10.0.0.1 and 7 more`; empty where there is none. A common name counts
/// only where no DNS name stands in it, as OpenSSL has it.
std::string hosts_of(const X509* certificate) {
    Hosts hosts;
    read_alternative_names(certificate, hosts);
    const ASN1_STRING* const common = hosts.any_dns ? nullptr : common_name(certificate);
    if (common != nullptr) hosts.add(name_of(common));
    std::string text;
    for (std::size_t i = 0; i < hosts.shown.size(); ++i) {
        const bool last = i + 1 == hosts.shown.size() && hosts.more == 0;
        text += (i == 0 ? "" : last ? " and " : ", ") + hosts.shown[i];
    }
    return hosts.more == 0 ? text : text + " and " + std::to_string(hosts.more) + " more";
}

/// 2026-03-01T12:00:00Z.
std::string time_of(const ASN1_TIME* time) {
    std::tm utc{};
    std::array<char, 32> text{};
    if (ASN1_TIME_to_tm(time, &utc) != 1) return "an unreadable date";
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text.data();
}

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
           ": two keys, one name, as after an authority was renewed with another key; name the one that signed it with "
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

// ── The handshake ───────────────────────────────────────────────────────────────────────────────────────────────

/// Has everything written down that may explain a refusal, and turns verification on, or off where the settings want
/// none of it: against the authorities that the context trusts and the host in its X509_VERIFY_PARAM. `host_is_name`:
/// else it is an address, which is no name to ask the broker for (RFC 6066). Throws std::bad_alloc.
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

/// The connection that was last begun with a context that was watched.
SSL* watched_stream(const SSL_CTX* context) {
    return static_cast<const Findings*>(SSL_CTX_get_ex_data(context, slot()))->stream;
}

/// Why it was refused, from a context that was watched. Nothing where nobody has refused anything; `handshake_failed`:
/// OpenSSL's own last error counts, too.
std::optional<std::string> explain_handshake(const SSL_CTX* context, const std::string& host, const config::Tls& tls,
                                             bool handshake_failed) {
    const auto& findings = *static_cast<const Findings*>(SSL_CTX_get_ex_data(context, slot()));
    if (findings.refusal != X509_V_OK) return refusal_of_theirs(findings, host, tls);
    if (auto refusal = refusal_of_ours(findings, SSL_CTX_get0_certificate(context), tls)) return refusal;
    if (!handshake_failed) return std::nullopt;
    return failed_handshake(ERR_peek_last_error());
}

// ── The socket ──────────────────────────────────────────────────────────────────────────────────────────────────

SSL_CTX* context_of(amqp_socket_t* socket) {
    return static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket));
}

/// An address is looked for among the certificate's addresses alone, a name among its names.
void expect(SSL_CTX* context, const std::string& host) {
    X509_VERIFY_PARAM* const param = SSL_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const int set = is_ip_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str())
                                        : X509_VERIFY_PARAM_set1_host(param, host.c_str(), host.size());
    if (set != 1) throw std::bad_alloc();  // without a host everyone's certificate would do
}

bool is_broken_off(int status) {
    return status == AMQP_STATUS_SSL_ERROR || status == AMQP_STATUS_SSL_CONNECTION_FAILED ||
           status == AMQP_STATUS_SSL_PEER_VERIFY_FAILED || status == AMQP_STATUS_SOCKET_ERROR ||
           status == AMQP_STATUS_CONNECTION_CLOSED;
}

[[noreturn]] void unusable(const std::string& what) {
    throw Error(Error::Kind::insecure, "cannot use " + what);
}

bool last_error_is(int library, int reason) {
    const unsigned long last = ERR_peek_last_error();
    return ERR_GET_LIB(last) == library && ERR_GET_REASON(last) == reason;
}

/// OpenSSL tells what the system or its decoder said; never what stands in the file.
std::string why_unreadable(const std::string& expected) {
    const unsigned long first = ERR_peek_error();
    if (ERR_SYSTEM_ERROR(first)) return std::strerror(ERR_GET_REASON(first));
    return "it holds no " + expected + " in PEM (-----BEGIN ...)";
}

/// Instead of asking for a passphrase on the terminal.
int no_passphrase(char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

void read_key(SSL_CTX* context, const std::string& file) {
    bool encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, &no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &encrypted);
    ERR_clear_error();
    const int read = SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    if (read == 1) return;
    const std::string key = "broker.tls.key_file " + file;
    if (encrypted) {
        unusable(key +
                 ": the key is encrypted, and nobody is there to type its passphrase; store it decrypted "
                 "(openssl pkey -in FILE -out NEW), readable by retryd alone");
    }
    if (last_error_is(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH) ||
        last_error_is(ERR_LIB_X509, X509_R_KEY_TYPE_MISMATCH)) {
        unusable(key +
                 ": it is not the key of the certificate in broker.tls.cert_file; name the two that were made "
                 "together");
    }
    unusable(key + ": " + why_unreadable("private key"));
}

/// Whom the context trusts: ca_file, else the system's authorities.
void trust(SSL_CTX* context, const config::Tls& tls) {
    if (!tls.verify_peer) return;
    ERR_clear_error();
    if (tls.ca_file.empty()) {
        if (SSL_CTX_set_default_verify_paths(context) == 1) return;
        unusable("the system's authorities; name a file of your own with broker.tls.ca_file");
    }
    if (SSL_CTX_load_verify_file(context, tls.ca_file.c_str()) == 1) return;
    unusable("broker.tls.ca_file " + tls.ca_file + ": " + why_unreadable("certificate"));
}

/// Who the context is: cert_file and key_file, if there are any.
void identify(SSL_CTX* context, const config::Tls& tls) {
    if (tls.cert_file.empty()) return;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, tls.cert_file.c_str()) != 1) {
        unusable("broker.tls.cert_file " + tls.cert_file + ": " + why_unreadable("certificate"));
    }
    read_key(context, tls.key_file);
}

}  // namespace

amqp_socket_t* new_tls_socket(amqp_connection_state_t state, const std::string& host, const config::Tls& tls) {
    amqp_socket_t* const socket = amqp_ssl_socket_new(state);
    if (socket == nullptr) throw std::bad_alloc();
    SSL_CTX* const context = context_of(socket);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    amqp_ssl_socket_set_verify_peer(socket, tls.verify_peer ? 1 : 0);
    amqp_ssl_socket_set_verify_hostname(socket, 0);  // OpenSSL does it, which knows addresses as well
    if (tls.verify_hostname) expect(context, host);
    watch_handshake(context, tls, !is_ip_address(host));
    trust(context, tls);
    identify(context, tls);
    return socket;
}

std::optional<std::string> explain_tls(amqp_socket_t* socket, int status, const std::string& host,
                                       const config::Tls& tls) {
    if (!is_broken_off(status)) return std::nullopt;
    return explain_handshake(context_of(socket), host, tls, status == AMQP_STATUS_SSL_CONNECTION_FAILED);
}

ssl_st* tls_stream(amqp_socket_t* socket) {
    SSL* const stream = watched_stream(context_of(socket));
    SSL_set_mode(stream, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return stream;
}

namespace {

/// After a call that has failed: -1, and why in errno.
ssize_t failed(SSL* stream) {
    const int cause = errno;
    switch (SSL_get_error(stream, 0)) {
        case SSL_ERROR_WANT_WRITE:
        case SSL_ERROR_WANT_READ:  // when sending: in a handshake that the broker began anew, over in a moment
            errno = EAGAIN;
            return -1;
        case SSL_ERROR_SYSCALL:
            errno = cause != 0 ? cause : EPIPE;
            return -1;
        default:
            errno = EPIPE;
            return -1;
    }
}

}  // namespace

ssize_t send_through(ssl_st* stream, std::string_view bytes) {
    ERR_clear_error();
    std::size_t sent = 0;
    if (SSL_write_ex(stream, bytes.data(), bytes.size(), &sent) == 1) return static_cast<ssize_t>(sent);
    return failed(stream);
}

ssize_t receive_through(ssl_st* stream, char* to, std::size_t size) {
    ERR_clear_error();
    std::size_t got = 0;
    if (SSL_read_ex(stream, to, size, &got) == 1) return static_cast<ssize_t>(got);
    return SSL_get_error(stream, 0) == SSL_ERROR_ZERO_RETURN ? 0 : failed(stream);
}

OwnNames own_names(amqp_socket_t* socket) {
    const X509* const own = SSL_CTX_get0_certificate(context_of(socket));
    if (own == nullptr) return {};
    return {subject_of(own), common_name_of(own)};
}

}  // namespace retryd::amqp
