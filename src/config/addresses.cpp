#include "config/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

namespace retryd::config {

// What all three kinds of address consist of.

namespace {

constexpr std::size_t longest_host = 255;

/// Which no URI has, unless percent-encoded.
bool has_blank_or_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) { return c == 0x7f || (c >= 0 && c <= ' '); });
}

std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

/// Takes `scheme://` off the front and returns it in lower case. Empty, and nothing taken, where there is none.
std::string take_scheme(std::string_view& text) {
    constexpr std::string_view separator = "://";
    const std::size_t end = text.find(separator);
    if (end == std::string_view::npos) return "";
    std::string scheme = lower_case(text.substr(0, end));
    text.remove_prefix(end + separator.size());
    return scheme;
}

/// Where the colon before the port is: behind the ] of an IPv6 address, whose own colons do not count.
std::size_t port_colon(std::string_view host_and_port) {
    return host_and_port.find(':', host_and_port.starts_with('[') ? host_and_port.find(']') : 0);
}

/// A number from 0 to 65535.
std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
    return port;
}

}  // namespace

bool is_host_name(std::string_view text) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    return !text.empty() && text.size() <= longest_host && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_ipv6_address(std::string_view text) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return inet_pton(AF_INET6, std::string{text}.c_str(), ignored.data()) == 1;
}

bool is_loopback(std::string_view host) {
    in6_addr six{};
    if (inet_pton(AF_INET6, std::string{host}.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six) != 0;
    in_addr four{};
    if (inet_pton(AF_INET, std::string{host}.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24U) == 127;
    return lower_case(host) == "localhost";
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
    const bool ipv6 = host.find(':') != std::string::npos;
    return (ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

std::string broker_address(bool tls, const std::string& host, std::uint16_t port) {
    return (tls ? "amqps://" : "amqp://") + host_and_port(host, port);
}

std::string to_string(const Http& http) {
    return host_and_port(http.host, http.port);
}

// amqp:// and amqps:// URIs.

namespace {

constexpr std::size_t longest_vhost = 255;  // an AMQP short string
const std::string percent_encoding =
    "special characters in user name and password percent-encoded (@ as %40, / as %2F, # as %23, % as %25)";

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Reads on after the first complaint, with whatever there is, but keeps only that one.
class UriReader {
  public:
    std::variant<Uri, UriComplaint> read(std::string_view text) {
        if (has_blank_or_control(text)) {
            refuse("holds a blank or a control character; expected it percent-encoded (a blank as %20)");
        }
        read_scheme(text);
        if (text.find_first_of("?#") != std::string_view::npos) {
            refuse("holds a ? or #; expected no parameters (they are keys of broker:), and in a password %3F or %23");
        }
        const std::size_t path = std::min(text.find('/'), text.size());
        read_authority(text.substr(0, path));
        read_vhost(text.substr(path));
        if (!complaint_.empty()) return UriComplaint{std::move(complaint_)};
        return std::move(uri_);
    }

  private:
    void refuse(const std::string& what) {
        if (complaint_.empty()) complaint_ = "the URI " + what;
    }

    /// Percent-decoded; `part` is what it is called in a complaint.
    std::string decode(std::string_view text, const std::string& part);
    void read_scheme(std::string_view& text);
    void read_authority(std::string_view text);
    void read_user(std::string_view text);
    void read_host(std::string_view text);
    void read_ipv6_address(std::string_view text);
    void read_port(std::string_view text);
    void read_vhost(std::string_view path);

    Uri uri_;
    std::string complaint_;
};

std::string UriReader::decode(std::string_view text, const std::string& part) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0) {
                refuse("has a % without two hexadecimal digits in its " + part + "; expected %25 for a % itself");
            }
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (c == '\0') refuse("has a NUL character in its " + part + "; expected none");
        decoded.push_back(c);
    }
    return decoded;
}

void UriReader::read_scheme(std::string_view& text) {
    const std::string scheme = take_scheme(text);
    uri_.tls = scheme == "amqps";
    uri_.port = uri_.tls ? 5671 : 5672;
    if (scheme != "amqp" && scheme != "amqps") {
        refuse("does not begin with amqp:// or amqps://; expected amqp://USER:PASSWORD@HOST:PORT/VHOST");
    }
}

void UriReader::read_authority(std::string_view text) {
    if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
        read_user(text.substr(0, at));
        text.remove_prefix(at + 1);
    }
    const bool brackets = text.starts_with('[');
    const std::size_t bracket = text.find(']');
    if (brackets && bracket == std::string_view::npos) {
        return refuse("has a [ without ] in its host; expected an IPv6 address such as [::1]");
    }
    const std::size_t colon = std::min(port_colon(text), text.size());
    if (colon < text.size()) read_port(text.substr(colon + 1));
    if (!brackets) return read_host(text.substr(0, colon));
    if (colon != bracket + 1) return refuse("has more than a port behind its ]; expected [ADDRESS]:PORT");
    read_ipv6_address(text.substr(1, bracket - 1));
}

void UriReader::read_user(std::string_view text) {
    if (text.find('@') != std::string_view::npos) refuse("has two @; expected " + percent_encoding);
    const std::size_t colon = text.find(':');
    uri_.username = decode(text.substr(0, colon), "user name");
    if (uri_.username->empty()) refuse("has no user name before its @; expected USER:PASSWORD@HOST");
    if (colon != std::string_view::npos) uri_.password = decode(text.substr(colon + 1), "password");
}

void UriReader::read_port(std::string_view text) {
    uri_.port = parse_port(text).value_or(0);
    if (uri_.port == 0) {
        refuse("has a port that is no number from 1 to 65535; expected one, and " + percent_encoding);
    }
}

void UriReader::read_ipv6_address(std::string_view text) {
    uri_.host = text;
    if (!is_ipv6_address(text)) {
        refuse("has brackets around a host that is no IPv6 address; expected one such as [::1]");
    }
}

void UriReader::read_host(std::string_view text) {
    uri_.host = decode(text, "host");
    if (uri_.host.empty()) {
        refuse("has no host; expected amqp://HOST/VHOST");
    } else if (!is_host_name(uri_.host)) {
        refuse("has a host that is no host name; expected letters, digits, dots and hyphens, or an address in []");
    }
}

void UriReader::read_vhost(std::string_view path) {
    if (path.empty() || path == "/") return;
    path.remove_prefix(1);
    if (path.find('@') != std::string_view::npos) {
        return refuse("has an @ behind its first /; expected " + percent_encoding);
    }
    if (path.find('/') != std::string_view::npos) {
        return refuse("has a / in its vhost; expected it as %2F (the default vhost is %2F, or no path at all)");
    }
    uri_.vhost = decode(path, "vhost");
    if (uri_.vhost.size() > longest_vhost) refuse("has a vhost longer than 255 bytes; expected a vhost's name");
}

}  // namespace

std::variant<Uri, UriComplaint> parse_uri(std::string_view text) {
    return UriReader{}.read(text);
}

// The management API's URL.

namespace {

std::optional<std::string> complaint_about_authority(std::string_view authority) {
    if (authority.find('@') != std::string_view::npos) {
        return "has a user in it, which belongs into management.username and management.password";
    }
    const std::size_t colon = port_colon(authority);
    const std::string_view host = authority.substr(0, colon);
    if (host.empty()) return "has no host";
    const bool brackets = host.starts_with('[') && host.ends_with(']');
    if (brackets ? !is_ipv6_address(host.substr(1, host.size() - 2)) : !is_host_name(host)) {
        return "has a host that is neither a host name nor an address in []";
    }
    if (colon != std::string_view::npos && parse_port(authority.substr(colon + 1)).value_or(0) == 0) {
        return "has a port that is no number from 1 to 65535";
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> complaint_about_management_url(std::string_view url) {
    if (has_blank_or_control(url)) return "holds a blank or a control character";
    const std::string scheme = take_scheme(url);
    if (scheme != "http" && scheme != "https") return "does not begin with http:// or https://";
    if (url.find_first_of("?#") != std::string_view::npos) return "holds a ? or #";
    if (auto complaint = complaint_about_authority(url.substr(0, url.find('/')))) return complaint;
    if (url.find('@') != std::string_view::npos) return "has an @ behind its first /";
    return std::nullopt;
}

// Where the HTTP server listens.

std::variant<Http, std::string> parse_listen_address(std::string_view text) {
    if (text.find("://") != std::string_view::npos) return "is a URL";
    const bool ipv6 = text.starts_with('[');
    const std::size_t colon = port_colon(text);
    std::string_view host = text.substr(0, colon);
    if (ipv6 && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const bool port_alone = colon == std::string_view::npos ? parse_port(text).has_value()
                                                            : colon == 0 && parse_port(text.substr(1)).has_value();
    if (port_alone) {
        return "has no host (did you mean 127.0.0.1:" + std::string{text.substr(colon == 0 ? 1 : 0)} + "?)";
    }
    if (host.empty()) return "has no host";
    if (colon == std::string_view::npos) return "has no port";
    if (!ipv6 && text.find(':', colon + 1) != std::string_view::npos) return "has more than one : outside of []";
    if (ipv6 ? !is_ipv6_address(host) : !is_host_name(host)) {
        return "has a host that is neither a host name nor an address, which is in [] where it is IPv6";
    }
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) return "has a port that is no number from 0 to 65535";
    return Http{std::string{host}, *port};
}

}  // namespace retryd::config
