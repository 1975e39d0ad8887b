#include "config/management_url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "config/uri.h"

namespace retryd::config {
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
