#include "amqp/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <new>

#include "amqp/certificate.h"
#include "amqp/tls_files.h"
#include "amqp/tls_refusal.h"
#include "amqp/tls_watch.h"

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

}  // namespace

amqp_socket_t* new_tls_socket(amqp_connection_state_t state, const std::string& host, const config::Tls& tls) {
    amqp_socket_t* const socket = amqp_ssl_socket_new(state);
    if (socket == nullptr) throw std::bad_alloc();
    SSL_CTX* const context = context_of(socket);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    amqp_ssl_socket_set_verify_peer(socket, tls.verify_peer ? 1 : 0);
    amqp_ssl_socket_set_verify_hostname(socket, 0);  // OpenSSL does it, which knows addresses as well
    if (tls.verify_hostname) expect(context, host);
    watch(context, tls, !is_ip_address(host));
    trust(context, tls);
    identify(context, tls);
    return socket;
}

std::optional<std::string> explain_tls(amqp_socket_t* socket, int status, const std::string& host,
                                       const config::Tls& tls) {
    if (!is_broken_off(status)) return std::nullopt;
    SSL_CTX* const context = context_of(socket);
    const TlsWatch& watch = watch_of(context);
    if (watch.refusal != X509_V_OK) return refusal_of_theirs(watch, host, tls);
    if (auto refusal = refusal_of_ours(watch, SSL_CTX_get0_certificate(context), tls)) return refusal;
    if (status != AMQP_STATUS_SSL_CONNECTION_FAILED) return std::nullopt;
    return failed_handshake(ERR_peek_last_error());
}

OwnNames own_names(amqp_socket_t* socket) {
    const X509* const own = SSL_CTX_get0_certificate(context_of(socket));
    if (own == nullptr) return {};
    return {subject_of(own), common_name_of(own)};
}

}  // namespace retryd::amqp
