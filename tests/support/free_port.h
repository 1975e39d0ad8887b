// A TCP port for a server of a test, on 127.0.0.1.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <stdexcept>

#include "support/loopback.h"

namespace retryd::test {

/// Nobody listens there, and no outgoing connection of the machine takes it before the server does: those begin at
/// 32768. The brokers of the tests are between 20000 and 32000.
inline std::uint16_t free_port() {
    std::random_device random;
    std::uniform_int_distribution<std::uint16_t> any(10'000, 19'999);
    for (int tries = 0; tries < 100; ++tries) {
        const std::uint16_t port = any(random);
        const sockaddr_in address = loopback(port);
        const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool bound = ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        ::close(listener);
        if (bound) return port;
    }
    throw std::runtime_error("no port between 10000 and 19999 is free");
}

}  // namespace retryd::test
