// amqp:// and amqps:// URIs → where to connect, and as whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/settings.h"

namespace retryd::config {

struct Uri {
    bool tls = false;
    std::string host;  // an IPv6 address without its brackets
    std::uint16_t port = 0;
    std::string vhost = "/";
    std::optional<std::string> username;
    std::optional<std::string> password;
};

/// What is wrong with a URI; names the part, never what stands in it, since any part may hold a piece of a password.
struct UriComplaint {
    std::string text;  // "what is wrong; what was expected"
};

/// https://www.rabbitmq.com/docs/uri-spec, with percent-decoding, strictly: no query, no fragment. The path is the
/// vhost; none, or a lone `/`, is the default vhost `/` (the specification makes the latter an empty name, which
/// nobody has), as is `/%2F`. The port is 5672, with TLS 5671, where none is given.
std::variant<Uri, UriComplaint> parse_uri(std::string_view text);

/// What may stand for a host in any URI: a name (or an IPv4 address), or an IPv6 address without its brackets.
bool is_host_name(std::string_view text);
bool is_ipv6_address(std::string_view text);

/// HOST:PORT, an IPv6 address in brackets.
std::string host_and_port(const std::string& host, std::uint16_t port);
/// amqp://HOST:PORT or amqps://HOST:PORT.
std::string broker_address(bool tls, const std::string& host, std::uint16_t port);

// Where retryd's own HTTP server listens: HOST:PORT, [IPV6]:PORT.

/// The parts, or what is wrong with it ("has no port"). Host and port are both needed: what listens everywhere shall
/// say so (0.0.0.0, [::]).
std::variant<Http, std::string> parse_listen_address(std::string_view text);

std::string to_string(const Http& http);

// Where RabbitMQ's management API is: http://HOST:PORT, https://HOST/PREFIX.

/// What is wrong with it ("has no host"), or nothing. Scheme and host, a port and a path if need be; no user, since
/// that has keys of its own, no query, no fragment. Names the part, never what stands in it.
std::optional<std::string> complaint_about_management_url(std::string_view url);

}  // namespace retryd::config
