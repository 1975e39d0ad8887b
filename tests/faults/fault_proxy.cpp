#include "faults/fault_proxy.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/loopback.h"

namespace retryd::test {

namespace {

int stream_socket() {
    return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

bool is_for(const When& when, Direction direction, const Frame& frame) {
    return when.direction == direction && when.type == frame.type() &&
           (when.method == 0 || when.method == frame.method()) &&
           (when.marker.empty() || frame.bytes.find(when.marker) != std::string::npos);
}

}  // namespace

FaultProxy::FaultProxy(const Address& target) : target_(target), address_(target), listener_(stream_socket()) {
    sockaddr_in bound = loopback(0);
    socklen_t length = sizeof bound;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&bound), length) != 0 || ::listen(listener_, 16) != 0)
        throw std::runtime_error("the fault proxy cannot bind a port");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &length);
    address_.host = "127.0.0.1";
    address_.port = ntohs(bound.sin_port);
    thread_ = std::thread([this] { serve(); });
}

FaultProxy::~FaultProxy() {
    ending_ = true;
    thread_.join();
    ::close(listener_);
}

std::size_t FaultProxy::on(const When& when, Fault fault) {
    const std::lock_guard lock(mutex_);
    rules_.push_back({when, std::move(fault)});
    return rules_.size() - 1;
}

int FaultProxy::matched(std::size_t fault) const {
    const std::lock_guard lock(mutex_);
    return std::next(rules_.begin(), static_cast<std::ptrdiff_t>(fault))->matched;
}

bool FaultProxy::await_matched(std::size_t fault, int frames, milliseconds within) const {
    return await([&] { return matched(fault) >= frames; }, within);
}

void FaultProxy::heal() {
    const std::lock_guard lock(mutex_);
    for (Rule& rule : rules_)
        rule.when.times = 0;
    connections_.remove_if([](const auto& connection) { return connection->hangs(); });
}

void FaultProxy::pass(Proxied& connection, Direction direction, const Frame& frame) {
    const Fault* chosen = nullptr;
    for (Rule& rule : rules_) {
        if (!is_for(rule.when, direction, frame)) continue;
        const int number = ++rule.matched - rule.when.nth;
        if (chosen == nullptr && number >= 0 && number < rule.when.times) chosen = &rule.fault;
    }
    if (chosen == nullptr) return connection.send(direction, frame.bytes);
    (*chosen)(connection, direction, frame);
}

void FaultProxy::accept_one() {
    const int daemon = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (daemon < 0) return;
    const int broker = stream_socket();
    auto connection = std::make_unique<Proxied>(daemon, broker);
    const sockaddr_in address = loopback(target_.port);
    const int yes = 1;
    for (const int socket : {daemon, broker})
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // Not waited for: until it stands nothing can be sent, and what comes waits.
    ::connect(broker, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    connections_.push_back(std::move(connection));
    ++accepted_;
}

void FaultProxy::serve() {
    while (!ending_) {
        std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
        {
            const std::lock_guard lock(mutex_);
            for (const auto& connection : connections_)
                connection->wants(waiting);
        }
        ::poll(waiting.data(), waiting.size(), 5);  // short: what is held goes on by the clock
        const std::lock_guard lock(mutex_);
        if (waiting[0].revents != 0) accept_one();
        const auto to_faults = [this](Proxied& connection, Direction direction, const Frame& frame) {
            pass(connection, direction, frame);
        };
        connections_.remove_if([&](const auto& connection) { return !connection->relay(to_faults); });
    }
}

}  // namespace retryd::test
