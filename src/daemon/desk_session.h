// Who is signed in at the desk (http.admin): sessions, and how often a password may be guessed. Pure: time and dice are
// arguments. Not thread-safe: the server's thread alone uses it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace retryd::daemon {

/// Whether both are equal, in a time that does not tell where they differ.
bool same_secret(std::string_view given, std::string_view secret);

/// How often a password may be guessed, by all together: whoever guesses can take many addresses, and behind a proxy
/// all have one. After five wrong ones each further one costs a wait, 1 s, 2 s, 4 s … up to a minute, in which nobody
/// can sign in. Who is signed in does not notice.
class GuessLimit {
  public:
    /// How long nobody may try; zero: now.
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

    /// A new id each time, whatever the client has sent: nobody can be made to use one that somebody else knows.
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
