// Bytes to and from a broker over a socket of rabbitmq-c, plain or TLS, on which nobody has logged in by AMQP 0-9-1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "amqp/frame_socket.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::amqp::amqp10 {

/// Every call throws Error when the connection is lost, and when the broker takes or gives nothing for answer_timeout.
class ByteStream {
  public:
    ByteStream(const config::Endpoint& endpoint, const config::Broker& settings);

    void write(std::string_view bytes);
    std::string read(std::size_t size);
    /// Whether there is something to read, within that time.
    bool readable(core::Milliseconds within);

  private:
    bool take_in();
    bool wait(short events, core::Milliseconds within) const;
    void require(short events) const;

    RawConnection connection_;
    ssl_st* stream_ = nullptr;
    std::string ahead_;  // read already
};

}  // namespace retryd::amqp::amqp10
