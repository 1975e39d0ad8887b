// Who may ask the desk (http.admin) for something: a request of its own page, and not of another page that a browser
// has open, or of one whose name was made to point here (DNS rebinding); and of somebody who is signed in. Pure: time
// and dice are arguments.
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

/// What keeps a request out.
struct DeskRefusal {
    int status = 0;
    std::string code;  // a word for programs
    std::string text;  // a sentence for people
};

/// Whether the host of a Host header (with or without a port) is ours: this machine's own names, or `listen`'s host.
///
/// The port does not matter, for an ssh tunnel begins at any. What a proxy says (X-Forwarded-Host) does not either: a
/// page of a rebound name can send that header as it likes, but never the Host. So a proxy has to ask for the address
/// that we listen on, which is what most do by themselves.
bool is_own_host(std::string_view host, std::string_view listen_host);

/// Host, Origin and Sec-Fetch-Site, of any request. X-Forwarded-Host and X-Forwarded-Proto are believed for what Origin
/// is compared with: a foreign page cannot send them without a preflight, which is not answered here.
std::optional<DeskRefusal> refuse_foreign(const http::WebRequest& request, std::string_view listen_host);

/// What besides only a changing request needs: JSON, which no form can send.
std::optional<DeskRefusal> refuse_form(const http::WebRequest& request);

/// Whether a proxy says that the browser speaks TLS: then the cookie is for TLS alone.
bool came_by_tls(const http::WebRequest& request);

/// Of the header Cookie; empty where it is not there, or there twice.
std::string cookie_value(const http::WebRequest& request, std::string_view name);

/// Empty where it is not there.
std::string_view header_value(const http::WebRequest& request, const std::string& lower_case_name);

// ── Sessions. Not thread-safe: the server's thread alone uses them ──

/// Whether both are equal, in a time that does not tell where they differ.
bool same_secret(std::string_view given, std::string_view secret);

/// How often a password may be guessed, by all together: whoever guesses can take many addresses, and behind a proxy
/// all have one. After five wrong ones each further one costs a wait, 1 s, 2 s, 4 s … up to a minute, in which nobody
/// can sign in. Who is signed in does not notice.
class GuessLimit {
  public:
    /// How long no attempt is allowed; zero: now.
    core::Milliseconds wait(core::SteadyTime now) const;
    void wrong(core::SteadyTime now);
    void right() { wrong_ = 0; }

  private:
    std::size_t wrong_ = 0;
    core::SteadyTime until_{};
};

struct DeskSession {
    std::string id;    // 256 bits in hex: the cookie
    std::string csrf;  // 256 bits in hex: the token that changing requests have to show
    std::string name;  // what logs and runs call it; says nothing of the others
    core::SteadyTime ends{};
};

class DeskSessions {
  public:
    using Dice = std::function<std::string(std::size_t bytes)>;  // in hex, unguessable

    explicit DeskSessions(Dice dice) : dice_(std::move(dice)) {}

    /// The password that is in effect. With another one than before every session ends.
    void use(const std::string& password);
    bool right_password(std::string_view given) const { return same_secret(given, password_); }

    /// A new id each time, whatever the client has sent: no client can be made to use one that another knows (session
    /// fixation).
    const DeskSession& begin(core::Milliseconds lasts, core::SteadyTime now);
    /// Null where there is none, or it is over.
    const DeskSession* find(std::string_view id, core::SteadyTime now) const;
    void end(const std::string& id);
    void end_all() { sessions_.clear(); }
    std::size_t size() const { return sessions_.size(); }

    static constexpr std::size_t most = 64;  // then the oldest one ends

  private:
    Dice dice_;
    std::string password_;
    std::deque<DeskSession> sessions_;
};

}  // namespace retryd::daemon
