#include "http/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "support/catch.h"
#include "support/loopback.h"

namespace retryd::test {

namespace {

/// As the request's head says.
std::size_t body_size(const std::string& head) {
    constexpr std::string_view name = "Content-Length: ";
    const auto at = head.find(name);
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
}

}  // namespace

Server::Server(std::string answer) : Server(std::map<std::string, std::string>{{"", std::move(answer)}}) {}

Server::Server(std::map<std::string, std::string> answers)
    : answers_(std::move(answers)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = loopback(0);
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
    const auto receive = [&](std::string& text) {
        const auto size = recv(client, buffer.data(), buffer.size(), 0);
        if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
        return size > 0;
    };
    while (head.find("\r\n\r\n") == std::string::npos) {
        if (!receive(head)) return;
    }
    const auto end = head.find("\r\n\r\n") + 4;
    std::string body = head.substr(end);
    head.resize(end);
    while (body.size() < body_size(head)) {
        if (!receive(body)) return;
    }
    {
        const std::lock_guard lock(mutex_);
        heads_.push_back(head);
        body_ = body;
    }
    const std::string answer = answer_to(head);
    while (answer.empty() && receive(body)) {  // until the client has had enough
    }
    std::size_t sent = 0;
    while (sent < answer.size()) {
        const auto size = send(client, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (size <= 0) return;
        sent += static_cast<std::size_t>(size);
    }
}

void Server::answer_first(std::vector<std::string> answers) {
    const std::lock_guard lock(mutex_);
    first_answers_ = std::move(answers);
}

std::string Server::answer_to(const std::string& head) {
    const std::lock_guard lock(mutex_);
    std::string best;
    if (!first_answers_.empty()) {
        best = std::move(first_answers_.front());
        first_answers_.erase(first_answers_.begin());
        return best;
    }
    std::size_t length = 0;
    for (const auto& [beginning, answer] : answers_) {
        if (beginning.size() < length || !head.starts_with(beginning)) continue;
        best = answer;
        length = beginning.size();
    }
    return best;
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

std::string Server::last_body() const {
    const std::lock_guard lock(mutex_);
    return body_;
}

std::string answer(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace retryd::test
