#include "http/web_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
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
    // IPv4 and IPv6 addresses have the port at the same place.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

/// Returns the socket, or a negative number with the reason in errno.
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
    config::Http address;  // with the actual port
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
constexpr std::size_t memory_a_client = 16UL * 1024;  // for its request line and headers

/// Added to every answer that does not set them: browsers run or show nothing from it, and no page may embed it.
constexpr std::array<std::pair<const char*, const char*>, 6> headers{
    {{"Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
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
        return {
            MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", "only GET and HEAD\n", {{"Allow", "GET, HEAD"}}};
    const auto found = handlers.find(path);
    if (found == handlers.end()) return nothing_here(handlers);
    try {
        return found->second();
    } catch (const std::exception&) {
        return {MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", "this went wrong inside of retryd\n"};
    }
}

/// A request whose body is being received.
struct Asked {
    WebRequest request;
    std::size_t most = 0;          // the most bytes of body
    std::optional<Reply> refusal;  // the answer, whatever else comes
};

struct HeadersRead {
    std::map<std::string, std::string> headers;
    bool doubled = false;  // a header came twice: a proxy may use the other one
};

std::string in_lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

MHD_Result read_header(void* into, MHD_ValueKind, const char* name, const char* value) {
    auto& read = *static_cast<HeadersRead*>(into);
    const bool is_new = read.headers.emplace(in_lower_case(name), value == nullptr ? "" : value).second;
    read.doubled = read.doubled || !is_new;
    return MHD_YES;
}

std::string address_of(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == nullptr || info->client_addr == nullptr) return "";
    std::array<char, NI_MAXHOST> host{};
    const sockaddr* address = info->client_addr;
    const socklen_t size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    const int code = getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
    return code == 0 ? host.data() : "";
}

/// Accepts only a body with exactly one Content-Length: with anything else, a proxy in front of us may see the end of
/// the request elsewhere (request smuggling).
std::optional<Reply> refuse_framing(const WebApi& api, const WebRequest& request, bool doubled) {
    if (doubled) return api.fault(MHD_HTTP_BAD_REQUEST, "a header is there twice");
    if (request.headers.count("transfer-encoding") > 0)
        return api.fault(MHD_HTTP_LENGTH_REQUIRED, "a body needs a Content-Length, and no Transfer-Encoding");
    const auto length = request.headers.find("content-length");
    if (length == request.headers.end()) return std::nullopt;
    const std::string& digits = length->second;
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
        return api.fault(MHD_HTTP_BAD_REQUEST, "Content-Length is no number");
    return std::nullopt;
}

Reply too_large(const WebApi& api, std::size_t most) {
    return api.fault(MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large: at most " + std::to_string(most) + " bytes");
}

bool announces_more(const WebRequest& request, std::size_t most) {
    const auto length = request.headers.find("content-length");
    if (length == request.headers.end()) return false;
    std::size_t bytes = 0;
    const char* end = length->second.data() + length->second.size();
    const auto [rest, error] = std::from_chars(length->second.data(), end, bytes);
    return error != std::errc{} || rest != end || bytes > most;
}

template <class Call>
auto without_its_words(const WebApi& api, const Call& call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::exception&) {
        return api.fault(MHD_HTTP_INTERNAL_SERVER_ERROR, "this went wrong inside of retryd");
    }
}

/// Called when the headers of a request have arrived.
std::unique_ptr<Asked> begin_of(const WebApi& api, MHD_Connection* connection, const char* path, const char* method) {
    auto asked = std::make_unique<Asked>();
    HeadersRead read;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &read_header, &read);
    WebRequest& request = asked->request;
    request = {method, path, address_of(connection), "", std::move(read.headers)};
    asked->refusal = refuse_framing(api, request, read.doubled);
    if (!asked->refusal)
        asked->refusal = without_its_words(api, [&]() -> std::optional<Reply> { return api.refuse(request); });
    if (asked->refusal) return asked;
    asked->most = api.limit(request);
    if (announces_more(request, asked->most)) asked->refusal = too_large(api, asked->most);
    return asked;
}

void take_body(const WebApi& api, Asked& asked, std::string_view part) {
    if (asked.refusal) return;
    if (asked.request.body.size() + part.size() > asked.most) {
        asked.refusal = too_large(api, asked.most);
        asked.request.body = {};
    } else {
        asked.request.body.append(part);
    }
}

/// Leaves paths undecoded: then a proxy in front has checked the same path, and none is cut at a NUL.
std::size_t leave_escaped(void*, MHD_Connection*, char* text) {
    return std::strlen(text);
}

bool has_header(const Reply& reply, std::string_view name) {
    return std::any_of(reply.headers.begin(), reply.headers.end(),
                       [&](const auto& header) { return header.first == name; });
}

MHD_Result send_reply(MHD_Connection* connection, Reply reply) {
    MHD_Response* response =
        MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    for (const auto& [name, value] : headers) {
        if (!has_header(reply, name)) MHD_add_response_header(response, name, value);
    }
    for (const auto& [name, value] : reply.headers)
        MHD_add_response_header(response, name.c_str(), value.c_str());
    MHD_add_response_header(response, "Content-Type", reply.content_type.c_str());
    const MHD_Result result = MHD_queue_response(connection, static_cast<unsigned int>(reply.status), response);
    MHD_destroy_response(response);
    return result;
}

}  // namespace

struct Server::Running {
    config::Http address;
    Handlers handlers;
    std::optional<WebApi> api;
    std::deque<int> clients;  // their sockets, the oldest first; only the server's thread uses it
    MHD_Daemon* daemon = nullptr;

    static MHD_Result answer(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                             const char*, std::size_t*, void**);
    MHD_Result answer_api(MHD_Connection* connection, const char* path, const char* method, std::string_view part,
                          std::size_t* size, void** asked) const;
    static void request_ended(void*, MHD_Connection*, void** asked, MHD_RequestTerminationCode);
    static void client_changed(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what);
    void client_connected(int fd);
};

MHD_Result Server::Running::answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                                   const char*, const char* part, std::size_t* size, void** asked) {
    const auto& running = *static_cast<Running*>(self);
    const bool begun = *asked != nullptr;
    if (begun || (running.api && std::string_view{path}.starts_with(running.api->prefix) && running.api->there()))
        return running.answer_api(connection, path, method, {part, part == nullptr ? 0 : *size}, size, asked);
    return send_reply(connection, reply_to(running.handlers, method, path));
}

/// Called first with the headers, then with each part of the body, then without one. A refused request is answered at
/// once and the connection closed; its body is never read.
MHD_Result Server::Running::answer_api(MHD_Connection* connection, const char* path, const char* method,
                                       std::string_view part, std::size_t* size, void** asked) const {
    if (*asked == nullptr) {
        auto begun = begin_of(*api, connection, path, method);
        const auto refusal = begun->refusal;
        *asked = begun.release();
        return refusal ? send_reply(connection, *refusal) : MHD_YES;
    }
    Asked& request = *static_cast<Asked*>(*asked);
    if (*size > 0) {
        take_body(*api, request, part);
        *size = 0;
        return MHD_YES;
    }
    if (request.refusal) return send_reply(connection, *request.refusal);
    return send_reply(connection, without_its_words(*api, [&] { return api->handle(request.request); }));
}

void Server::Running::request_ended(void*, MHD_Connection*, void** asked, MHD_RequestTerminationCode) {
    delete static_cast<Asked*>(std::exchange(*asked, nullptr));
}

/// A client that sends a byte from time to time is never silent, so if all places are taken, the oldest connection is
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

Server::Server(const config::Http& settings, Handlers handlers, std::chrono::seconds silence, std::optional<WebApi> api)
    : running_(std::make_unique<Running>()) {
    const Listener listener = listen_on(settings);
    running_->address = listener.address;
    running_->handlers = std::move(handlers);
    running_->api = std::move(api);
    // Twice as many, because connections that are being closed count too.
    constexpr auto connections = static_cast<unsigned int>(2 * most_clients);
    running_->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, &Running::answer, running_.get(), MHD_OPTION_LISTEN_SOCKET,
        listener.fd, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
        static_cast<unsigned int>(silence.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_a_client,
        MHD_OPTION_NOTIFY_CONNECTION, &Running::client_changed, running_.get(), MHD_OPTION_NOTIFY_COMPLETED,
        &Running::request_ended, nullptr, MHD_OPTION_UNESCAPE_CALLBACK, &leave_escaped, nullptr, MHD_OPTION_END);
    if (running_->daemon == nullptr) throw Error("its thread cannot be started");
}

Server::~Server() {
    MHD_stop_daemon(running_->daemon);
}

const config::Http& Server::address() const {
    return running_->address;
}

}  // namespace retryd::http
