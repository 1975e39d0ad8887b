#include "daemon/desk_gate.h"

#include <algorithm>
#include <vector>

#include "config/addresses.h"

namespace retryd::daemon {

namespace {

constexpr int forbidden = 403;
constexpr int wrong_type = 415;

std::string small_letters(std::string_view text) {
    std::string lower{text};
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return lower;
}

std::string_view without_blanks(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Without the port and without the brackets of IPv6; empty where it is none.
std::string_view host_alone(std::string_view host) {
    if (host.starts_with('[')) {
        const auto end = host.find(']');
        const std::string_view rest = end == std::string_view::npos ? "x" : host.substr(end + 1);
        const bool fine =
            rest.empty() || (rest.starts_with(':') && rest.find_first_not_of("0123456789", 1) == rest.npos);
        return fine ? host.substr(1, end - 1) : std::string_view{};
    }
    const auto colon = host.find(':');
    if (colon != host.npos && host.find_first_not_of("0123456789", colon + 1) != host.npos) return {};
    return host.substr(0, colon);
}

/// Those that the page itself may have.
std::vector<std::string> own_origins(const http::WebRequest& request) {
    std::vector<std::string> origins;
    const std::string_view forwarded = header_value(request, "x-forwarded-host");
    for (const std::string_view host : {header_value(request, "host"), forwarded}) {
        if (host.empty()) continue;
        origins.push_back("http://" + small_letters(host));
        if (came_by_tls(request)) origins.push_back("https://" + small_letters(host));
    }
    return origins;
}

}  // namespace

std::string_view header_value(const http::WebRequest& request, const std::string& lower_case_name) {
    const auto found = request.headers.find(lower_case_name);
    return found == request.headers.end() ? std::string_view{} : without_blanks(found->second);
}

bool is_own_host(std::string_view host, std::string_view listen_host) {
    const std::string_view alone = host_alone(host);
    if (alone.empty()) return false;
    return config::is_loopback(alone) || small_letters(alone) == small_letters(listen_host);
}

std::optional<DeskRefusal> refuse_foreign(const http::WebRequest& request, std::string_view listen_host) {
    if (!is_own_host(header_value(request, "host"), listen_host))
        return DeskRefusal{forbidden, "host",
                           "the header Host names neither this machine (localhost, 127.0.0.1) nor the host of "
                           "http.listen; a proxy has to send the address that retryd listens on"};
    const bool has_origin = request.headers.count("origin") > 0;
    const auto origins = own_origins(request);
    const std::string origin = small_letters(header_value(request, "origin"));
    if (has_origin && std::find(origins.begin(), origins.end(), origin) == origins.end())
        return DeskRefusal{forbidden, "origin", "the request comes from a page of another origin"};
    const bool has_site = request.headers.count("sec-fetch-site") > 0;
    const std::string_view site = header_value(request, "sec-fetch-site");
    if (has_site && site != "same-origin" && site != "none")
        return DeskRefusal{forbidden, "origin", "the request comes from a page of another site"};
    return std::nullopt;
}

std::optional<DeskRefusal> refuse_form(const http::WebRequest& request) {
    const std::string_view type = header_value(request, "content-type");
    if (small_letters(without_blanks(type.substr(0, type.find(';')))) == "application/json") return std::nullopt;
    return DeskRefusal{wrong_type, "content_type", "a request that changes something is of the type application/json"};
}

bool came_by_tls(const http::WebRequest& request) {
    return small_letters(header_value(request, "x-forwarded-proto")) == "https";
}

std::string cookie_value(const http::WebRequest& request, std::string_view name) {
    std::string_view rest = header_value(request, "cookie");
    std::string value;
    bool seen = false;
    while (!rest.empty()) {
        const auto end = rest.find(';');
        const std::string_view pair = without_blanks(rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        const auto sign = pair.find('=');
        if (sign == std::string_view::npos || pair.substr(0, sign) != name) continue;
        if (seen) return "";
        seen = true;
        value = pair.substr(sign + 1);
    }
    return value;
}

}  // namespace retryd::daemon
