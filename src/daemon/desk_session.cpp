#include "daemon/desk_session.h"

#include <algorithm>
#include <utility>

namespace retryd::daemon {

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
        DeskSession{dice_(secret_bytes), dice_(secret_bytes), dice_(name_bytes), now + lasts});
}

/// All of them are compared, so that the time tells nothing.
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
