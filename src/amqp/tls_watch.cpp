#include "amqp/tls_watch.h"

#include <openssl/x509_vfy.h>

#include <new>

namespace retryd::amqp {
namespace {

void free_watch(void*, void* watch, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<TlsWatch*>(watch);
}

int slot() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_watch);
    if (index < 0) throw std::bad_alloc();
    return index;
}

TlsWatch& watch_of(const SSL* ssl) {
    return *static_cast<TlsWatch*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot()));
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
    TlsWatch& watch = watch_of(ssl);
    const int error = X509_STORE_CTX_get_error(store);
    if (!watch.verify_peer && !is_about_host(error)) return 1;
    watch.refusal = error;
    watch.depth = X509_STORE_CTX_get_error_depth(store);
    X509* const refused = X509_STORE_CTX_get_current_cert(store);
    if (refused == nullptr) return 0;
    X509_up_ref(refused);
    watch.refused.reset(refused);
    watch.namesake = knows_issuer_by_name(store, refused);
    return 0;
}

void on_progress(const SSL* ssl, int where, int what) {
    TlsWatch& watch = watch_of(ssl);
    if ((where & SSL_CB_HANDSHAKE_START) != 0 && !watch.host_is_name) {
        // rabbitmq-c asks for every host by name. Here the SSL is its own, and before its first word.
        SSL_set_tlsext_host_name(const_cast<SSL*>(ssl), nullptr);
    }
    constexpr int fatal = 2;
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && what >> 8 == fatal) watch.alert = what & 0xff;
}

int on_asked(SSL* ssl, void*) {
    watch_of(ssl).asked = true;
    return 1;
}

}  // namespace

void watch(SSL_CTX* context, const config::Tls& tls, bool host_is_name) {
    auto watch = std::make_unique<TlsWatch>();
    watch->verify_peer = tls.verify_peer;
    watch->host_is_name = host_is_name;
    if (SSL_CTX_set_ex_data(context, slot(), watch.get()) != 1) throw std::bad_alloc();
    static_cast<void>(watch.release());
    const bool verify = tls.verify_peer || tls.verify_hostname;
    SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &on_verified);
    SSL_CTX_set_info_callback(context, &on_progress);
    SSL_CTX_set_cert_cb(context, &on_asked, nullptr);
}

const TlsWatch& watch_of(const SSL_CTX* context) {
    return *static_cast<const TlsWatch*>(SSL_CTX_get_ex_data(context, slot()));
}

}  // namespace retryd::amqp
