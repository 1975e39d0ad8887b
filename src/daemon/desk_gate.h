// Who may use the desk (http.admin): only requests of its own page, not of another page in the same browser or of a
// host name that was made to point here (DNS rebinding), and only of somebody who is signed in. Pure: time and random
// bytes are arguments.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "http/web_server.h"

namespace retryd::daemon {

// ── Requests ──

/// Why a request is refused.
struct DeskRefusal {
    int status = 0;
    std::string code;  // a word for programs
    std::string text;  // a sentence for people
};

/// Whether the host of a Host header (with or without a port) is ours: one of this machine's own names, or the host in
/// `listen`.
///
/// The port does not matter, because an ssh tunnel may start at any port. X-Forwarded-Host does not count either: a
/// page under a rebound name can set that header, but never Host. So a proxy has to send the address that we listen on
/// as Host, which most do by default.
bool is_own_host(std::string_view host, std::string_view listen_host);

/// Checks Host, Origin and Sec-Fetch-Site of every request. X-Forwarded-Host and X-Forwarded-Proto are used for
/// comparing Origin: a foreign page cannot send them without a preflight request, which gets no permission here.
std::optional<DeskRefusal> refuse_foreign(const http::WebRequest& request, std::string_view listen_host);

/// A further check for requests that change something: they must be JSON, which an HTML form cannot send.
std::optional<DeskRefusal> refuse_form(const http::WebRequest& request);

/// Whether a proxy says that the browser uses TLS; then the cookie is restricted to TLS.
bool came_by_tls(const http::WebRequest& request);

/// The value of that cookie; empty if it is missing or there twice.
std::string cookie_value(const http::WebRequest& request, std::string_view name);

/// Empty if it is missing.
std::string_view header_value(const http::WebRequest& request, const std::string& lower_case_name);

// ── Sessions. Not thread-safe: the server's thread alone uses them ──

/// Compares in constant time.
bool same_secret(std::string_view given, std::string_view secret);

/// Limits how often a password may be guessed, by all clients together: whoever guesses can use many addresses, and
/// behind a proxy all have the same one. After five wrong ones, each further one causes a wait of 1 s, 2 s, 4 s … up to
/// a minute in which nobody can sign in. Sessions that exist are not affected.
class GuessLimit {
  public:
    /// How long until the next attempt is allowed; zero: now.
    core::Milliseconds wait(core::SteadyTime now) const;
    void wrong(core::SteadyTime now);
    void right() { wrong_ = 0; }

  private:
    std::size_t wrong_ = 0;
    core::SteadyTime until_{};
};

struct DeskSession {
    std::string id;    // 256 bits in hex: the cookie
    std::string csrf;  // 256 bits in hex: the token that requests for a change have to carry
    std::string name;  // how logs and runs call it; reveals nothing about the two above
    core::SteadyTime ends{};
};

class DeskSessions {
  public:
    using RandomHex = std::function<std::string(std::size_t bytes)>;  // in hex, unpredictable

    explicit DeskSessions(RandomHex random_hex) : random_hex_(std::move(random_hex)) {}

    /// The password from now on. If it has changed, all sessions end.
    void use(const std::string& password);
    bool right_password(std::string_view given) const { return same_secret(given, password_); }

    /// Always makes a new id, whatever the client sent, so that nobody can be tricked into using a known one (session
    /// fixation).
    const DeskSession& begin(core::Milliseconds lasts, core::SteadyTime now);
    /// Null if there is no such session, or it has expired.
    const DeskSession* find(std::string_view id, core::SteadyTime now) const;
    void end(const std::string& id);
    void end_all() { sessions_.clear(); }
    std::size_t size() const { return sessions_.size(); }

    static constexpr std::size_t most = 64;  // beyond that the oldest one ends

  private:
    RandomHex random_hex_;
    std::string password_;
    std::deque<DeskSession> sessions_;
};

}  // namespace retryd::daemon
