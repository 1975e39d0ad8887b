#include "http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "http/error.h"

namespace retryd::http {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const config::Http& settings) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int code = getaddrinfo(settings.host.c_str(), std::to_string(settings.port).c_str(), &hints, &found);
    if (code != 0) throw Error(gai_strerror(code));
    return {found, freeaddrinfo};
}

std::uint16_t port_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    // Both families have the port at the same place.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

/// Negative, with errno, where it cannot be.
int listen_on_one(const addrinfo& address) {
    constexpr int backlog = 64;
    const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
    if (fd < 0) return fd;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, backlog) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

}  // namespace

Listener listen_on(const config::Http& settings) {
    const Addresses addresses = addresses_of(settings);
    std::string why;
    for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
        const int fd = listen_on_one(*address);
        if (fd >= 0) return {fd, {settings.host, port_of(fd)}};
        if (why.empty()) why = std::generic_category().message(errno);
    }
    throw Error(why);
}

}  // namespace retryd::http
