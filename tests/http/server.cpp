#include "http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "support/catch.h"

namespace retryd::test {

Server::Server(std::string answer) : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(listener_, any, size) == 0);
    REQUIRE(listen(listener_, 8) == 0);
    REQUIRE(getsockname(listener_, any, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
}

Server::~Server() {
    shutdown(listener_, SHUT_RDWR);  // ends the accept
    thread_.join();
    close(listener_);
}

void Server::serve() {
    for (int client = accept(listener_, nullptr, nullptr); client >= 0; client = accept(listener_, nullptr, nullptr)) {
        answer(client);
        close(client);
    }
}

void Server::answer(int client) {
    std::string head;
    std::array<char, 4096> buffer{};
    while (head.find("\r\n\r\n") == std::string::npos) {
        const auto size = recv(client, buffer.data(), buffer.size(), 0);
        if (size <= 0) return;
        head.append(buffer.data(), static_cast<std::size_t>(size));
    }
    {
        const std::lock_guard lock(mutex_);
        heads_.push_back(head);
    }
    if (answer_.empty()) {
        while (recv(client, buffer.data(), buffer.size(), 0) > 0) {  // until the client has had enough
        }
        return;
    }
    std::size_t sent = 0;
    while (sent < answer_.size()) {
        const auto size = send(client, answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
        if (size <= 0) return;
        sent += static_cast<std::size_t>(size);
    }
}

std::vector<std::string> Server::requests() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (const std::string& head : heads_)
        lines.push_back(head.substr(0, head.find("\r\n")));
    return lines;
}

std::string Server::last() const {
    const std::lock_guard lock(mutex_);
    return heads_.empty() ? "" : heads_.back();
}

std::string answer(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace retryd::test
