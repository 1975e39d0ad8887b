#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "amqp/connect.h"

namespace retryd::amqp {
namespace {

constexpr int patience_ms = 1000;

/// errno of a connection attempt; 0 if it succeeds, or is still undecided after a second.
int try_address(const addrinfo& address) {
    const int fd = socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
    if (fd < 0) return errno;
    int cause = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (cause == EINPROGRESS) {
        pollfd waiting{fd, POLLOUT, 0};
        cause = 0;
        socklen_t size = sizeof(cause);
        if (poll(&waiting, 1, patience_ms) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &size);
    }
    close(fd);
    return cause;
}

}  // namespace

std::string why_unreachable(const std::string& host, std::uint16_t port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (failure != 0) return gai_strerror(failure);
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
    int cause = 0;
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        cause = try_address(*address);
        if (cause == 0) return {};
    }
    return std::strerror(cause);
}

}  // namespace retryd::amqp
