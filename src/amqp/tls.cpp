#include "amqp/tls.h"

#include <arpa/inet.h>

#include <array>
#include <filesystem>
#include <new>

#include "amqp/error.h"

namespace retryd::amqp {
namespace {

[[noreturn]] void unusable(const std::string& what) {
    throw Error(Error::Kind::unreachable, "cannot use " + what);
}

#if AMQP_VERSION >= AMQP_VERSION_CODE(0, 14, 0, 0)
void trust_system(amqp_socket_t* socket) {
    if (amqp_ssl_socket_enable_default_verify_paths(socket) != AMQP_STATUS_OK) {
        unusable("the system's CA certificates; name a file with broker.tls.ca_file");
    }
}
#else
/// The bundles of Debian, Fedora and Alpine. rabbitmq-c cannot ask OpenSSL for its own before 0.14.
void trust_system(amqp_socket_t* socket) {
    constexpr std::array bundles{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                 "/etc/ssl/cert.pem"};
    for (const char* bundle : bundles) {
        if (std::error_code ignored; !std::filesystem::exists(bundle, ignored)) continue;
        if (amqp_ssl_socket_set_cacert(socket, bundle) == AMQP_STATUS_OK) return;
    }
    unusable(
        "the system's CA certificates: none found; install ca-certificates or name a file with broker.tls.ca_file");
}
#endif

void trust(amqp_socket_t* socket, const config::Tls& tls) {
    if (!tls.verify_peer) return;
    if (tls.ca_file.empty()) return trust_system(socket);
    if (amqp_ssl_socket_set_cacert(socket, tls.ca_file.c_str()) != AMQP_STATUS_OK) {
        unusable("broker.tls.ca_file " + tls.ca_file + ": not readable, or no PEM certificate in it");
    }
}

void identify(amqp_socket_t* socket, const config::Tls& tls) {
    if (tls.cert_file.empty()) return;
    amqp_ssl_socket_set_key_passwd(socket, "");  // else OpenSSL asks for a passphrase on the terminal
    if (amqp_ssl_socket_set_key(socket, tls.cert_file.c_str(), tls.key_file.c_str()) != AMQP_STATUS_OK) {
        unusable("broker.tls.cert_file " + tls.cert_file + " with key_file " + tls.key_file +
                 ": not readable, not PEM, encrypted, or they do not belong together");
    }
}

bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
           inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

}  // namespace

amqp_socket_t* new_tls_socket(amqp_connection_state_t state, const config::Tls& tls) {
    amqp_socket_t* const socket = amqp_ssl_socket_new(state);
    if (socket == nullptr) throw std::bad_alloc();
    amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
    amqp_ssl_socket_set_verify_peer(socket, tls.verify_peer ? 1 : 0);
    amqp_ssl_socket_set_verify_hostname(socket, tls.verify_hostname ? 1 : 0);
    trust(socket, tls);
    identify(socket, tls);
    return socket;
}

std::optional<std::string> explain_tls(int status, const std::string& host) {
    switch (status) {
        case AMQP_STATUS_SSL_CONNECTION_FAILED:
            return "the TLS handshake failed; is this the broker's TLS port (5671, as a rule), and does the broker "
                   "want a "
                   "client certificate (broker.tls.cert_file)?";
        case AMQP_STATUS_SSL_PEER_VERIFY_FAILED:
            return "its certificate is not trusted; name the CA that signed it with broker.tls.ca_file";
        case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED:
            return "its certificate is not for the name " + host +
                   (is_address(host) ? "; an IP address is never accepted: connect by the name in the certificate"
                                     : "; connect by a name in the certificate");
        default:
            return std::nullopt;
    }
}

}  // namespace retryd::amqp
