#include "amqp/connect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <chrono>

#include "amqp/decode_stack.h"
#include "amqp/error.h"
#include "amqp/login.h"
#include "amqp/rabbit_connection.h"
#include "amqp/tls.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

timeval until(Clock::time_point deadline) {
    using std::chrono::microseconds;
    const auto left = std::max(std::chrono::duration_cast<microseconds>(deadline - Clock::now()), microseconds{1});
    return {left.count() / 1'000'000, left.count() % 1'000'000};
}

std::string explain(int status, const config::Endpoint& endpoint, core::Milliseconds timeout) {
    if (status == AMQP_STATUS_TIMEOUT) return "no answer within " + std::to_string(timeout.count()) + " ms";
    if (status == AMQP_STATUS_SOCKET_ERROR || status == AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED) {
        const std::string reason = why_unreachable(endpoint.host, endpoint.port);
        if (!reason.empty()) return reason;
    }
    return amqp_error_string2(status);
}

[[noreturn]] void fail(int status, amqp_socket_t* socket, const config::Endpoint& endpoint,
                       const config::Broker& settings) {
    const std::string beginning = "cannot connect to the broker at " + peer_of(endpoint) + ": ";
    if (endpoint.tls && status != AMQP_STATUS_SOCKET_ERROR) {
        const auto reason = explain_tls(socket, status, endpoint.host, settings.tls);
        if (reason) throw Error(Error::Kind::insecure, beginning + *reason);
    }
    throw Error(Error::Kind::unreachable, beginning + explain(status, endpoint, settings.connect_timeout));
}

/// A connection whose data the broker does not take for so long is broken, even while the broker's host answers.
void set_patience(int fd, std::chrono::seconds heartbeat) {
    const std::chrono::milliseconds patience = heartbeat.count() > 0 ? 2 * heartbeat : std::chrono::seconds{60};
    const auto milliseconds = static_cast<unsigned>(patience.count());
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

}  // namespace

std::string peer_of(const config::Endpoint& endpoint) {
    const bool six = endpoint.host.find(':') != std::string::npos;
    return (six ? '[' + endpoint.host + ']' : endpoint.host) + ':' + std::to_string(endpoint.port);
}

State connect(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name) {
    State state(amqp_new_connection());
    if (!state) throw std::bad_alloc();
    const auto deadline = Clock::now() + settings.connect_timeout;
    amqp_socket_t* const socket =
        endpoint.tls ? new_tls_socket(state.get(), endpoint.host, settings.tls) : amqp_tcp_socket_new(state.get());
    if (socket == nullptr) throw std::bad_alloc();

    const timeval patience = until(deadline);
    const int status = amqp_socket_open_noblock(socket, endpoint.host.c_str(), endpoint.port, &patience);
    if (status != AMQP_STATUS_OK) fail(status, socket, endpoint, settings);
    const timeval rest = until(deadline);
    amqp_set_handshake_timeout(state.get(), &rest);
    log_in(state.get(), endpoint, settings, name);
    set_patience(amqp_get_sockfd(state.get()), std::chrono::seconds(amqp_get_heartbeat(state.get())));
    return state;
}

std::unique_ptr<Connection> Connection::open(const config::Endpoint& endpoint, const config::Broker& settings,
                                             const std::string& name) {
    provide_decode_stack();
    return std::make_unique<RabbitConnection>(connect(endpoint, settings, name), peer_of(endpoint),
                                              endpoint.tls ? Socket::secured : Socket::plain);
}

}  // namespace retryd::amqp
