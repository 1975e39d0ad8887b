#include <cctype>
#include <optional>

#include "config/addresses.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

std::string encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string to;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        to.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
    }
    return to;
}

std::string written(const config::Uri& uri) {
    const bool address = uri.host.find(':') != std::string::npos;
    std::string text = uri.tls ? "amqps://" : "amqp://";
    if (uri.username) text += encoded(*uri.username);
    if (uri.password) text += ':' + encoded(*uri.password);
    if (uri.username) text += '@';
    text += address ? '[' + uri.host + ']' : uri.host;
    return text + ':' + std::to_string(uri.port) + '/' + encoded(uri.vhost);
}

void check_uri(const config::Uri& uri) {
    require(config::is_host_name(uri.host) || config::is_ipv6_address(uri.host), "a host is one");
    require(uri.port != 0, "a port is one");
    require(!uri.vhost.empty() && uri.vhost.size() <= 255, "a vhost is a short string");
    require(uri.username.has_value() || !uri.password.has_value(), "a password belongs to somebody");
    const auto again = config::parse_uri(written(uri));
    const auto* same = std::get_if<config::Uri>(&again);
    require(same != nullptr && same->tls == uri.tls && same->host == uri.host && same->port == uri.port &&
                same->vhost == uri.vhost && same->username == uri.username && same->password == uri.password,
            "a URI that is written anew means the same");
}

}  // namespace

void uris(std::string_view input) {
    const auto parsed = config::parse_uri(input);
    if (const auto* complaint = std::get_if<config::UriComplaint>(&parsed)) {
        require(!complaint->text.empty(), "a complaint says what it is");
        require(complaint->text.find(secret) == std::string::npos, "a complaint holds no piece of the URI");
    } else {
        check_uri(std::get<config::Uri>(parsed));
    }
    const auto complaint = config::complaint_about_management_url(input);
    if (complaint)
        return require(complaint->find(secret) == std::string::npos, "a complaint holds no piece of the URL");
    require(input.find('@') == std::string_view::npos, "the management API's URL holds no user");
}

}  // namespace retryd::fuzz
