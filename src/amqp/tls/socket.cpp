#include "amqp/tls/socket.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "amqp/error.h"
#include "amqp/tls/certificate.h"
#include "amqp/tls/refusal.h"

namespace retryd::amqp {
namespace {

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
