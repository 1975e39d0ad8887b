#include "amqp/connect.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "amqp/codec.h"
#include "amqp/error.h"
#include "amqp/rabbitmq.h"
#include "amqp/tls_socket.h"
#include "config/addresses.h"
#include "core/safe_text.h"

namespace retryd::amqp {

namespace {

std::string text_in(const std::optional<core::Table>& properties, std::string_view name) {
    return properties ? std::string{core::text_of(core::find(*properties, name)).value_or("")} : std::string{};
}

bool is_rabbitmq(const Server& server) {
    return server.product == "RabbitMQ" || server.platform.starts_with("Erlang/OTP");
}

}  // namespace

Server server_of(amqp_connection_state_t state) {
    Arena arena;
    const auto properties = read_table(*amqp_get_server_properties(state), arena);
    return {text_in(properties, "product"), text_in(properties, "platform"), text_in(properties, "version")};
}

std::optional<core::BrokerVersion> version_of(const Server& server) {
    return core::parse_version(server.version);
}

std::string why_not_used(const Server& server) {
    constexpr std::string_view remedy = ". Nothing was declared or consumed there; name a RabbitMQ in broker.uri";
    std::string line;
    if (!is_rabbitmq(server)) {
        line = server.product.empty() ? "does not say what it is"
                                      : "is " + core::safe_name(server.product) + ' ' + core::safe_name(server.version);
        line +=
            ", not RabbitMQ: that a message waits on its rung until the work queue has taken it, and that a confirm "
            "means it is kept, retryd relies on as RabbitMQ does it, and it was tried there alone";
    } else if (!version_of(server)) {
        line = "is RabbitMQ, but does not say which version (" + core::quoted(server.version) +
               "): what it does with a message depends on that";
    }
    return line.empty() ? line : line.append(remedy);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int any_channel_max = 0;
constexpr int frame_max = 131072;  // RabbitMQ's default
constexpr int patience_ms = 1000;

timeval until(Clock::time_point deadline) {
    using std::chrono::microseconds;
    const auto left = std::max(std::chrono::duration_cast<microseconds>(deadline - Clock::now()), microseconds{1});
    return {left.count() / 1'000'000, left.count() % 1'000'000};
}

/// host:port, as errors name it.
std::string peer_of(const config::Endpoint& endpoint) {
    return config::host_and_port(endpoint.host, endpoint.port);
}

// ── The socket ──────────────────────────────────────────────────────────────────────────────────────────────────

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

/// Why a TCP connection does not come about, found by trying: "Connection refused", "Name or service not known".
/// rabbitmq-c only says that there was a socket error. Empty if it does come about now.
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

std::string explain(int status, const config::Endpoint& endpoint, core::Milliseconds timeout) {
    if (status == AMQP_STATUS_TIMEOUT) return "no answer within " + std::to_string(timeout.count()) + " ms";
    if (status == AMQP_STATUS_SOCKET_ERROR || status == AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED) {
        const std::string reason = why_unreachable(endpoint.host, endpoint.port);
        if (!reason.empty()) return reason;
    }
    return amqp_error_string2(status);
}

[[noreturn]] void fail_to_connect(int status, amqp_socket_t* socket, const config::Endpoint& endpoint,
                                  const config::Broker& settings) {
    const std::string beginning = "cannot connect to the broker at " + peer_of(endpoint) + ": ";
    if (endpoint.tls && status != AMQP_STATUS_SOCKET_ERROR) {
        const auto reason = explain_tls(socket, status, endpoint.host, settings.tls);
        if (reason) throw Error(Error::Kind::insecure, beginning + *reason);
    }
    throw Error(Error::Kind::unreachable, beginning + explain(status, endpoint, settings.connect_timeout));
}

/// With heartbeats their absence tells that a connection is broken (FrameSocket::receive). Without them it is one whose
/// data is not taken for so long; this cannot tell a dead broker from one under an alarm, so it is for these alone.
void set_patience(int fd, std::chrono::seconds heartbeat) {
    if (heartbeat.count() > 0) return;
    constexpr unsigned milliseconds = 60'000;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

// ── The login: who we are, what we can do, and what a refusal means ─────────────────────────────────────────────

amqp_table_entry_t text_entry(std::string_view key, std::string_view value) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(key);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(value);
    return entry;
}

amqp_table_entry_t true_entry(std::string_view key) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(key);
    entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entry.value.value.boolean = 1;
    return entry;
}

template <std::size_t count>
amqp_table_t table_of(std::array<amqp_table_entry_t, count>& entries) {
    return {static_cast<int>(count), entries.data()};
}

bool is_external(const config::Broker& settings) {
    return settings.auth_mechanism == config::AuthMechanism::external;
}

/// RabbitMQ takes the user's name from the certificate, its whole subject unless it is told otherwise.
std::string remedy_for_certificate(const OwnNames& own) {
    return "; a user of the certificate's name has to be there: '" + own.subject + "'" +
           (own.common_name.empty()
                ? ""
                : ", or '" + own.common_name + "' where the broker has ssl_cert_login_from = common_name") +
           " (rabbitmqctl add_user, set_permissions)";
}

[[noreturn]] void refuse(amqp_connection_state_t state, const config::Endpoint& endpoint,
                         const config::Broker& settings, const amqp_connection_close_t& close) {
    const bool external = is_external(settings);
    std::string remedy = "; check that the vhost exists and that the user may enter it (rabbitmqctl set_permissions)";
    if (close.reply_code == AMQP_ACCESS_REFUSED) {
        remedy = external ? remedy_for_certificate(own_names(amqp_get_socket(state)))
                          : "; check user name and password (rabbitmqctl authenticate_user)";
    }
    const std::string who = external ? "the user of retryd's certificate" : "user " + core::quoted(endpoint.username);
    throw Error(Error::Kind::refused_login, "the broker at " + peer_of(endpoint) + " refused " + who + " on vhost " +
                                                core::quoted(endpoint.vhost) + ": " + std::to_string(close.reply_code) +
                                                ' ' + std::string{view_of(close.reply_text)} + remedy);
}

std::string not_offered(bool external) {
    if (!external) {
        return "it takes no user with a password (PLAIN); allow it in the broker's auth_mechanisms, or log in with a "
               "certificate (broker.auth_mechanism: external)";
    }
    return "it offers no login with a certificate (EXTERNAL); that takes the plugin rabbitmq_auth_mechanism_ssl, "
           "EXTERNAL among the broker's auth_mechanisms, and ssl_options.verify = verify_peer";
}

bool was_greeted(amqp_connection_state_t state) {
    return amqp_get_server_properties(state)->num_entries > 0;
}

[[noreturn]] void fail_to_log_in(amqp_connection_state_t state, const config::Endpoint& endpoint,
                                 const config::Broker& settings, int status) {
    const std::string beginning = "cannot log in to the broker at " + peer_of(endpoint) + ": ";
    if (status == AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD) {
        throw Error(Error::Kind::refused_login, beginning + not_offered(is_external(settings)));
    }
    if (endpoint.tls && !was_greeted(state)) {  // with TLS 1.3 a refusal of our certificate comes only now
        const auto reason = explain_tls(amqp_get_socket(state), status, endpoint.host, settings.tls);
        if (reason) throw Error(Error::Kind::insecure, beginning + *reason);
    }
    std::string reason = amqp_error_string2(status);
    if (status == AMQP_STATUS_TIMEOUT) {
        reason = "connected, but no answer in time";
    } else if (status == AMQP_STATUS_CONNECTION_CLOSED || status == AMQP_STATUS_BAD_AMQP_DATA ||
               status == AMQP_STATUS_SOCKET_ERROR) {
        reason += endpoint.tls ? "; is this an AMQP port?" : "; is this an AMQP port, and one without TLS?";
    }
    throw Error(Error::Kind::unreachable, beginning + reason);
}

/// Before what a login led to: at another server nothing that an operator does about a user is of use.
void check_server(amqp_connection_state_t state, const config::Endpoint& endpoint) {
    const std::string why = why_not_used(server_of(state));
    if (!why.empty()) throw Error(Error::Kind::other_server, "the server at " + peer_of(endpoint) + ' ' + why);
}

amqp_rpc_reply_t log_in_as(amqp_connection_state_t state, const config::Endpoint& endpoint,
                           const config::Broker& settings, const amqp_table_t& properties) {
    const int heartbeat = static_cast<int>(settings.heartbeat.count());
    if (is_external(settings)) {
        // RabbitMQ does not read the identity, and rabbitmq-c takes an empty one for a lack of memory.
        return amqp_login_with_properties(state, endpoint.vhost.c_str(), any_channel_max, frame_max, heartbeat,
                                          &properties, AMQP_SASL_METHOD_EXTERNAL, "retryd");
    }
    return amqp_login_with_properties(state, endpoint.vhost.c_str(), any_channel_max, frame_max, heartbeat, &properties,
                                      AMQP_SASL_METHOD_PLAIN, endpoint.username.c_str(), endpoint.password.c_str());
}

/// On a connected socket, within the handshake timeout. Throws Error: refused_login, other_server, insecure or
/// unreachable.
void log_in(amqp_connection_state_t state, const config::Endpoint& endpoint, const config::Broker& settings,
            const std::string& name) {
    // Without consumer_cancel_notify a deleted error queue stops deliveries silently; without connection.blocked an
    // alarm is invisible.
    std::array capabilities{true_entry("consumer_cancel_notify"), true_entry("connection.blocked"),
                            true_entry("basic.nack"), true_entry("publisher_confirms")};
    amqp_table_entry_t capability_entry{};
    capability_entry.key = bytes_of("capabilities");
    capability_entry.value.kind = AMQP_FIELD_KIND_TABLE;
    capability_entry.value.value.table = table_of(capabilities);
    std::array properties{text_entry("connection_name", name), text_entry("product", "retryd"),
                          text_entry("version", RETRYD_VERSION), text_entry("information", ""), capability_entry};
    const amqp_rpc_reply_t reply = log_in_as(state, endpoint, settings, table_of(properties));
    const bool logged_in = reply.reply_type == AMQP_RESPONSE_NORMAL;
    if (logged_in || was_greeted(state)) check_server(state, endpoint);
    if (logged_in) return;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
        fail_to_log_in(state, endpoint, settings, reply.library_error);
    if (reply.reply.id != AMQP_CONNECTION_CLOSE_METHOD)
        fail_to_log_in(state, endpoint, settings, AMQP_STATUS_WRONG_METHOD);
    refuse(state, endpoint, settings, *static_cast<const amqp_connection_close_t*>(reply.reply.decoded));
}

RawConnection open_until(Clock::time_point deadline, const config::Endpoint& endpoint, const config::Broker& settings) {
    RawConnection connection(amqp_new_connection());
    if (!connection) throw std::bad_alloc();
    amqp_socket_t* const socket = endpoint.tls ? new_tls_socket(connection.get(), endpoint.host, settings.tls)
                                               : amqp_tcp_socket_new(connection.get());
    if (socket == nullptr) throw std::bad_alloc();

    const timeval patience = until(deadline);
    const int status = amqp_socket_open_noblock(socket, endpoint.host.c_str(), endpoint.port, &patience);
    if (status != AMQP_STATUS_OK) fail_to_connect(status, socket, endpoint, settings);
    return connection;
}

}  // namespace

RawConnection open_socket(const config::Endpoint& endpoint, const config::Broker& settings) {
    return open_until(Clock::now() + settings.connect_timeout, endpoint, settings);
}

RawConnection connect(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name) {
    const auto deadline = Clock::now() + settings.connect_timeout;
    RawConnection connection = open_until(deadline, endpoint, settings);
    const timeval rest = until(deadline);
    amqp_set_handshake_timeout(connection.get(), &rest);
    log_in(connection.get(), endpoint, settings, name);
    set_patience(amqp_get_sockfd(connection.get()), std::chrono::seconds(amqp_get_heartbeat(connection.get())));
    return connection;
}

}  // namespace retryd::amqp
