#include "config/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace retryd::config {

namespace {

constexpr std::size_t longest_vhost = 255;  // an AMQP short string
constexpr std::size_t longest_host = 255;
constexpr std::string_view host_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
const std::string encoding =
    "special characters in user name and password percent-encoded (@ as %40, / as %2F, # as %23, % as %25)";

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Reads on after the first complaint, with whatever there is: only that one is told.
class UriReader {
  public:
    std::variant<Uri, UriComplaint> read(std::string_view text) {
        if (std::any_of(text.begin(), text.end(), [](char c) { return c == 0x7f || (c >= 0 && c <= ' '); })) {
            refuse("holds a blank or a control character; expected it percent-encoded (a blank as %20)");
        }
        take_scheme(text);
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

    std::string decode(std::string_view text, const std::string& part);
    void take_scheme(std::string_view& text);
    void read_authority(std::string_view text);
    void read_user(std::string_view text);
    void read_host(std::string_view text);
    void read_address(std::string_view text);
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

void UriReader::take_scheme(std::string_view& text) {
    const std::size_t end = text.find("://");
    std::string scheme{text.substr(0, end == std::string_view::npos ? 0 : end)};
    std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    uri_.tls = scheme == "amqps";
    uri_.port = uri_.tls ? 5671 : 5672;
    if (scheme != "amqp" && scheme != "amqps") {
        refuse("does not begin with amqp:// or amqps://; expected amqp://USER:PASSWORD@HOST:PORT/VHOST");
    } else {
        text.remove_prefix(end + 3);
    }
}

void UriReader::read_authority(std::string_view text) {
    if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
        read_user(text.substr(0, at));
        text.remove_prefix(at + 1);
    }
    const bool address = text.starts_with('[');
    const std::size_t host_end = address ? text.find(']') : 0;
    if (host_end == std::string_view::npos) {
        return refuse("has a [ without ] in its host; expected an IPv6 address such as [::1]");
    }
    const std::size_t colon = std::min(text.find(':', host_end), text.size());
    if (colon < text.size()) read_port(text.substr(colon + 1));
    if (!address) return read_host(text.substr(0, colon));
    if (colon != host_end + 1) return refuse("has more than a port behind its ]; expected [ADDRESS]:PORT");
    read_address(text.substr(1, host_end - 1));
}

void UriReader::read_user(std::string_view text) {
    if (text.find('@') != std::string_view::npos) refuse("has two @; expected " + encoding);
    const std::size_t colon = text.find(':');
    uri_.username = decode(text.substr(0, colon), "user name");
    if (uri_.username->empty()) refuse("has no user name before its @; expected USER:PASSWORD@HOST");
    if (colon != std::string_view::npos) uri_.password = decode(text.substr(colon + 1), "password");
}

void UriReader::read_port(std::string_view text) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), uri_.port);
    if (text.empty() || error != std::errc{} || rest != text.data() + text.size() || uri_.port == 0) {
        refuse("has a port that is no number from 1 to 65535; expected one, and " + encoding);
    }
}

void UriReader::read_address(std::string_view text) {
    uri_.host = text;
    if (!is_ipv6_address(text)) {
        refuse("has brackets around a host that is no IPv6 address; expected one such as [::1]");
    }
}

void UriReader::read_host(std::string_view text) {
    uri_.host = decode(text, "host");
    if (uri_.host.empty()) refuse("has no host; expected amqp://HOST/VHOST");
    if (!uri_.host.empty() && !is_host_name(uri_.host)) {
        refuse("has a host that is no host name; expected letters, digits, dots and hyphens, or an address in []");
    }
}

void UriReader::read_vhost(std::string_view path) {
    if (path.empty() || path == "/") return;
    path.remove_prefix(1);
    if (path.find('@') != std::string_view::npos) return refuse("has an @ behind its first /; expected " + encoding);
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

bool is_host_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_host &&
           text.find_first_not_of(host_characters) == std::string_view::npos;
}

bool is_ipv6_address(std::string_view text) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return inet_pton(AF_INET6, std::string{text}.c_str(), ignored.data()) == 1;
}

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
    return host_and_port(http.host, http.port);
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
    const bool ipv6 = host.find(':') != std::string::npos;
    return (ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

std::string broker_address(bool tls, const std::string& host, std::uint16_t port) {
    return (tls ? "amqps://" : "amqp://") + host_and_port(host, port);
}

namespace {

using Complaint = std::optional<std::string>;

/// Takes `http://` or `https://` off the front, in either case of letters.
bool take_scheme(std::string_view& url) {
    for (const std::string_view scheme : {std::string_view{"http://"}, std::string_view{"https://"}}) {
        const std::string_view start = url.substr(0, scheme.size());
        const bool same = std::equal(start.begin(), start.end(), scheme.begin(), scheme.end(),
                                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
        if (!same) continue;
        url.remove_prefix(scheme.size());
        return true;
    }
    return false;
}

bool is_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return !text.empty() && error == std::errc{} && rest == text.data() + text.size() && port != 0;
}

bool is_host(std::string_view text) {
    if (!text.starts_with('[')) return is_host_name(text);
    return text.ends_with(']') && is_ipv6_address(text.substr(1, text.size() - 2));
}

Complaint complaint_about_authority(std::string_view authority) {
    if (authority.find('@') != std::string_view::npos) {
        return "has a user in it, which belongs into management.username and management.password";
    }
    // A bracket keeps the colons of an IPv6 address from being taken for the port's.
    const std::size_t colon = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0);
    const std::string_view host = authority.substr(0, colon);
    if (host.empty()) return "has no host";
    if (!is_host(host)) return "has a host that is neither a host name nor an address in []";
    if (colon != std::string_view::npos && !is_port(authority.substr(colon + 1))) {
        return "has a port that is no number from 1 to 65535";
    }
    return std::nullopt;
}

}  // namespace

Complaint complaint_about_management_url(std::string_view url) {
    const bool blank = std::any_of(url.begin(), url.end(), [](char c) { return c == 0x7f || (c >= 0 && c <= ' '); });
    if (blank) return "holds a blank or a control character";
    if (!take_scheme(url)) return "does not begin with http:// or https://";
    if (url.find_first_of("?#") != std::string_view::npos) return "holds a ? or #";
    if (auto complaint = complaint_about_authority(url.substr(0, url.find('/')))) return complaint;
    if (url.find('@') != std::string_view::npos) return "has an @ behind its first /";
    return std::nullopt;
}

}  // namespace retryd::config
