#include "support/tcp_relay.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/loopback.h"

namespace retryd::test {

namespace {

int bound_socket(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    const sockaddr_in address = loopback(port);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error("the relay cannot bind a port");
    return socket;
}

void without_delay(int socket) {
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

TcpRelay::TcpRelay(const Address& target) : target_(target), address_(target), reserved_(bound_socket(0)) {
    sockaddr_in bound{};
    socklen_t length = sizeof bound;
    ::getsockname(reserved_, reinterpret_cast<sockaddr*>(&bound), &length);
    address_.host = "127.0.0.1";
    address_.port = ntohs(bound.sin_port);
    thread_ = std::thread([this] { serve(); });
}

TcpRelay::~TcpRelay() {
    ending_ = true;
    thread_.join();
    close();
    ::close(reserved_);
}

void TcpRelay::open() {
    const std::lock_guard lock(mutex_);
    if (listener_ >= 0) return;
    listener_ = bound_socket(address_.port);
    ::listen(listener_, 16);
}

void TcpRelay::close() {
    const std::lock_guard lock(mutex_);
    if (listener_ >= 0) ::close(listener_);
    listener_ = -1;
    cut();
}

void TcpRelay::cut() {
    const std::lock_guard lock(mutex_);
    while (!peers_.empty())
        drop(peers_.begin()->first);
}

void TcpRelay::hold() {
    held_ = true;
}
void TcpRelay::resume() {
    held_ = false;
}

void TcpRelay::change(std::function<void(std::span<char>)> bytes) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(bytes);
}

void TcpRelay::drop(int socket) {
    const int peer = peers_.at(socket);
    const linger reset{1, 0};
    for (const int end : {socket, peer}) {
        ::setsockopt(end, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        ::close(end);
        peers_.erase(end);
    }
    --connections_;
}

void TcpRelay::accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int broker = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(target_.port);
    if (::connect(broker, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(client);
        ::close(broker);
        return;
    }
    without_delay(client);
    without_delay(broker);
    peers_[client] = broker;
    peers_[broker] = client;
    ++connections_;
}

bool TcpRelay::forward(int from, int to) {
    char buffer[65536];
    const ssize_t count = ::recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    if (change_) change_({buffer, static_cast<std::size_t>(count)});
    for (ssize_t sent = 0; sent < count;) {
        const ssize_t written = ::send(to, buffer + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
        if (written <= 0) return false;
        sent += written;
    }
    return true;
}

void TcpRelay::serve() {
    while (!ending_) {
        std::vector<pollfd> waiting;
        {
            const std::lock_guard lock(mutex_);
            if (listener_ >= 0) waiting.push_back({listener_, POLLIN, 0});
            if (!held_) {
                for (const auto& [socket, peer] : peers_)
                    waiting.push_back({socket, POLLIN, 0});
            }
        }
        ::poll(waiting.data(), waiting.size(), 5);  // short: open, close and hold take effect at the next round
        const std::lock_guard lock(mutex_);
        for (const pollfd& ready : waiting) {
            if (ready.revents == 0) continue;
            if (ready.fd == listener_)
                accept_one();
            else if (const auto peer = peers_.find(ready.fd); peer != peers_.end() && !forward(ready.fd, peer->second))
                drop(ready.fd);
        }
    }
}

}  // namespace retryd::test
