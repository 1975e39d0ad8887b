#include "amqp/tls_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "amqp/tls_socket.h"

namespace retryd::test {
namespace {

/// Small, so that a large body does not fit.
constexpr int small_buffer = 64 * 1024;
constexpr std::string_view greeting{"AMQP\0\0\x09\x01", 8};

void require(bool done, const char* what) {
    if (!done) throw std::runtime_error(what);
}

void certify(SSL_CTX* context) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    require(SSL_CTX_use_certificate(context, certificate.get()) == 1, "certificate");
    require(SSL_CTX_use_PrivateKey(context, key.get()) == 1, "key");
}

/// Its port is set.
int listener(sockaddr_in& address) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small_buffer, sizeof small_buffer);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    require(::bind(fd, any, size) == 0 && ::listen(fd, 1) == 0 && ::getsockname(fd, any, &size) == 0, "listener");
    return fd;
}

}  // namespace

TlsPeer::TlsPeer() : context_(SSL_CTX_new(TLS_server_method())) {
    certify(context_.get());
    sockaddr_in address{};
    const int listening = listener(address);
    std::thread accepting([&] {
        socket_ = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        theirs_.reset(SSL_new(context_.get()));
        SSL_set_fd(theirs_.get(), socket_);
        SSL_accept(theirs_.get());
    });
    ours_.reset(amqp_new_connection());
    config::Tls tls;
    tls.verify_peer = tls.verify_hostname = false;
    amqp_socket_t* const socket = amqp::new_tls_socket(ours_.get(), "127.0.0.1", tls);
    const int status = amqp_socket_open(socket, "127.0.0.1", ntohs(address.sin_port));
    accepting.join();
    ::close(listening);
    require(status == AMQP_STATUS_OK, "TLS did not come about");
    setsockopt(amqp_get_sockfd(ours_.get()), SOL_SOCKET, SO_SNDBUF, &small_buffer, sizeof small_buffer);
    ::fcntl(socket_, F_SETFL, O_NONBLOCK);
    send_raw(greeting);
    amqp_frame_t frame{};
    const timeval a_minute{60, 0};
    require(amqp_simple_wait_frame_noblock(ours_.get(), &frame, &a_minute) == AMQP_STATUS_OK, "protocol header");
}

TlsPeer::~TlsPeer() {
    theirs_.reset();
    ::close(socket_);
}

void TlsPeer::send_raw(std::string_view bytes) {
    require(SSL_write(theirs_.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size()),
            "SSL_write");
}

std::string TlsPeer::received_raw() {
    std::string all;
    char part[16 * 1024];
    std::size_t count = 0;
    while (SSL_read_ex(theirs_.get(), part, sizeof part, &count) == 1)
        all.append(part, count);
    return all;
}

}  // namespace retryd::test
