#include "http/web_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "http/client.h"

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

/// Negative where it cannot listen there; errno says why.
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

/// A listening socket.
struct Listener {
    int fd = -1;
    config::Http address;  // with the real port
};

/// Throws Error. The caller closes the socket.
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

constexpr std::size_t most_clients = 64;
constexpr std::size_t memory_a_client = 16UL * 1024;  // its request line and headers have to fit

/// The page is one file that asks no other server than its own, and no other page may embed it.
constexpr std::array<std::pair<const char*, const char*>, 6> headers{
    {{"Content-Security-Policy",
      "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
     {"X-Content-Type-Options", "nosniff"},
     {"Referrer-Policy", "no-referrer"},
     {"Cross-Origin-Resource-Policy", "same-origin"},
     {"Cache-Control", "no-store"},
     {"Connection", "close"}}};

Reply nothing_here(const Handlers& handlers) {
    std::string body = "nothing is here; there is:\n";
    for (const auto& [path, handler] : handlers)
        body.append(path).append("\n");
    return {MHD_HTTP_NOT_FOUND, "text/plain; charset=utf-8", std::move(body)};
}

Reply reply_to(const Handlers& handlers, std::string_view method, std::string_view path) {
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return {MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", "only GET and HEAD\n"};
    const auto found = handlers.find(path);
    if (found == handlers.end()) return nothing_here(handlers);
    try {
        return found->second();
    } catch (const std::exception&) {
        return {MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", "this went wrong inside of retryd\n"};
    }
}

}  // namespace

struct Server::Running {
    config::Http address;
    Handlers handlers;
    std::deque<int> clients;  // their sockets, the oldest first; only the server's thread uses it
    MHD_Daemon* daemon = nullptr;

    static MHD_Result answer(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                             const char*, std::size_t*, void**);
    static void client_changed(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what);
    void client_connected(int fd);
};

MHD_Result Server::Running::answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                                   const char*, const char*, std::size_t*, void**) {
    Reply reply = reply_to(static_cast<Running*>(self)->handlers, method, path);
    MHD_Response* response =
        MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    for (const auto& [name, value] : headers)
        MHD_add_response_header(response, name, value);
    MHD_add_response_header(response, "Content-Type", reply.content_type.c_str());
    if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
    const MHD_Result result = MHD_queue_response(connection, static_cast<unsigned int>(reply.status), response);
    MHD_destroy_response(response);
    return result;
}

/// A client that sends a byte now and then is never silent: where all places are taken, the oldest connection is
/// closed.
void Server::Running::client_connected(int fd) {
    if (clients.size() >= most_clients) {
        shutdown(clients.front(), SHUT_RDWR);
        clients.pop_front();
    }
    clients.push_back(fd);
}

void Server::Running::client_changed(void* self, MHD_Connection* connection, void**,
                                     MHD_ConnectionNotificationCode what) {
    auto& running = *static_cast<Running*>(self);
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) return running.client_connected(info->connect_fd);
    std::erase(running.clients, info->connect_fd);
}

Server::Server(const config::Http& settings, Handlers handlers, std::chrono::seconds silence)
    : running_(std::make_unique<Running>()) {
    const Listener listener = listen_on(settings);
    running_->address = listener.address;
    running_->handlers = std::move(handlers);
    // Twice as many: those that are being closed count too.
    constexpr auto connections = static_cast<unsigned int>(2 * most_clients);
    running_->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, &Running::answer, running_.get(), MHD_OPTION_LISTEN_SOCKET,
        listener.fd, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
        static_cast<unsigned int>(silence.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_a_client,
        MHD_OPTION_NOTIFY_CONNECTION, &Running::client_changed, running_.get(), MHD_OPTION_END);
    if (running_->daemon == nullptr) throw Error("its thread cannot be started");
}

Server::~Server() {
    MHD_stop_daemon(running_->daemon);
}

const config::Http& Server::address() const {
    return running_->address;
}

}  // namespace retryd::http
