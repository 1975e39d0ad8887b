// The other end of a connection over TLS, without a broker: OpenSSL on a socket of 127.0.0.1, with a certificate of its
// own making.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "amqp/frame_socket.h"

namespace retryd::test {

class TlsPeer {
  public:
    TlsPeer();
    ~TlsPeer();
    TlsPeer(const TlsPeer&) = delete;
    TlsPeer& operator=(const TlsPeer&) = delete;

    /// Our end; to be taken once.
    amqp::RawConnection take_connection() { return std::move(ours_); }

    void send_raw(std::string_view bytes);
    /// All that has arrived, without waiting.
    std::string received_raw();

  private:
    struct Free {
        void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
        void operator()(SSL* stream) const noexcept { SSL_free(stream); }
    };

    amqp::RawConnection ours_;
    std::unique_ptr<SSL_CTX, Free> context_;
    std::unique_ptr<SSL, Free> theirs_;
    int socket_ = -1;
};

}  // namespace retryd::test
