#include "daemon/desk_gate.h"

#include <algorithm>
#include <utility>
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

/// The host without the port and without the brackets of IPv6; empty if it is not valid.
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

/// The origins that our own page may have.
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

bool same_secret(std::string_view given, std::string_view secret) {
    if (secret.empty()) return false;
    volatile unsigned char differs = given.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto one = static_cast<unsigned char>(given[i]);
        const auto other = static_cast<unsigned char>(secret[i % secret.size()]);
        differs = static_cast<unsigned char>(differs | (one ^ other));
    }
    return differs == 0;
}

core::Milliseconds GuessLimit::wait(core::SteadyTime now) const {
    return std::max(core::Milliseconds::zero(), until_ - now);
}

void GuessLimit::wrong(core::SteadyTime now) {
    constexpr std::size_t free = 5;
    constexpr std::size_t longest_shift = 6;
    constexpr core::Milliseconds longest{60'000};
    ++wrong_;
    if (wrong_ < free) return;
    const std::size_t shift = std::min(wrong_ - free, longest_shift);
    until_ = now + std::min(longest, core::Milliseconds{1'000} * (1U << shift));
}

void DeskSessions::use(const std::string& password) {
    if (password == password_) return;
    password_ = password;
    sessions_.clear();
}

const DeskSession& DeskSessions::begin(core::Milliseconds lasts, core::SteadyTime now) {
    constexpr std::size_t secret_bytes = 32;
    constexpr std::size_t name_bytes = 4;
    std::erase_if(sessions_, [&](const DeskSession& session) { return session.ends <= now; });
    if (sessions_.size() >= most) sessions_.pop_front();
    return sessions_.emplace_back(
        DeskSession{random_hex_(secret_bytes), random_hex_(secret_bytes), random_hex_(name_bytes), now + lasts});
}

/// Compares with all of them, so that the time taken reveals nothing.
const DeskSession* DeskSessions::find(std::string_view id, core::SteadyTime now) const {
    const DeskSession* found = nullptr;
    for (const DeskSession& session : sessions_) {
        if (same_secret(id, session.id) && now < session.ends) found = &session;
    }
    return found;
}

void DeskSessions::end(const std::string& id) {
    std::erase_if(sessions_, [&](const DeskSession& session) { return session.id == id; });
}

}  // namespace retryd::daemon
