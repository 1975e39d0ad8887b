// Addresses: broker URIs, the management API's URL, where the HTTP server listens.
//
// They are parsed here and not by libcurl (CURLU), which is lenient where an operator needs an error. libcurl 7.88
// takes amqp:///vhost for the host `vhost`, amqp://bob:1/2@h for the host `bob` with port 1, and the host `1` for
// 0.0.0.1. It accepts `100%` and `%zz` as they stand, an empty port and port 0, an empty user name, and one slash
// instead of two. Its errors, such as "Bad hostname", do not say what to do about it. All of these would have to be
// checked here in any case.
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

/// amqp:// and amqps:// URIs, by https://www.rabbitmq.com/docs/uri-spec, percent-decoded; without query and fragment.
/// The path is the vhost. None, or a lone `/`, is the default vhost `/` (the specification makes the latter an empty
/// name, which nobody has), as is `/%2F`. Without a port it is 5672, with TLS 5671.
std::variant<Uri, UriComplaint> parse_uri(std::string_view text);

/// What is wrong with the management API's URL ("has no host"), or nothing. http:// or https://, a host, and maybe a
/// port and a path; no user, since that has keys of its own, no query, no fragment. Names the part, never what stands
/// in it.
std::optional<std::string> complaint_about_management_url(std::string_view url);

/// HOST:PORT or [IPV6]:PORT; or what is wrong with it ("has no port"). Host and port are both needed: a server that
/// listens on every address must be configured so (0.0.0.0, [::]).
std::variant<Http, std::string> parse_listen_address(std::string_view text);

/// What may stand for a host in any of them: a name or an IPv4 address; or an IPv6 address without its brackets.
bool is_host_name(std::string_view text);
bool is_ipv6_address(std::string_view text);

/// Whether it can only be this machine: localhost, 127.0.0.0/8, ::1. Another name is not, whatever it may resolve to.
bool is_loopback(std::string_view host);

/// HOST:PORT, an IPv6 address in brackets.
std::string host_and_port(const std::string& host, std::uint16_t port);
/// amqp://HOST:PORT or amqps://HOST:PORT.
std::string broker_address(bool tls, const std::string& host, std::uint16_t port);
/// HOST:PORT.
std::string to_string(const Http& http);

}  // namespace retryd::config
