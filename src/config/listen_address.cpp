#include "config/listen_address.h"

#include <charconv>

#include "config/uri.h"

namespace retryd::config {
namespace {

std::optional<std::uint16_t> port_of(std::string_view text) {
    std::uint16_t port = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
    return port;
}

}  // namespace

std::variant<Http, std::string> parse_listen_address(std::string_view text) {
    if (text.find("://") != std::string_view::npos) return "is a URL";
    const bool six = text.starts_with('[');
    // A bracket keeps the colons of an IPv6 address from being taken for the port's.
    const std::size_t colon = text.find(':', six ? text.find(']') : 0);
    std::string_view host = text.substr(0, colon);
    if (six && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty()) return "has no host";
    if (colon == std::string_view::npos) return "has no port";
    if (!six && text.find(':', colon + 1) != std::string_view::npos) return "has more than one : outside of []";
    if (six ? !is_ipv6_address(host) : !is_host_name(host)) {
        return "has a host that is neither a host name nor an address, which is in [] where it is IPv6";
    }
    const auto port = port_of(text.substr(colon + 1));
    if (!port) return "has a port that is no number from 0 to 65535";
    return Http{std::string{host}, *port};
}

std::string to_string(const Http& http) {
    const bool six = http.host.find(':') != std::string::npos;
    return (six ? '[' + http.host + ']' : http.host) + ':' + std::to_string(http.port);
}

}  // namespace retryd::config
