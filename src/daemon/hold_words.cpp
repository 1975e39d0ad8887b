#include "daemon/hold_words.h"

#include <chrono>

#include "core/safe_text.h"

namespace retryd::daemon::hold_words {

namespace {

constexpr const char* nothing_done = "nothing was done: ";

std::string with_commas(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3)
        text.insert(at - 3, 1, ',');
    return text;
}

}  // namespace

std::string may_not_hold(const core::Policy& policy, const core::Entry* entry, const std::string& work_queue) {
    const std::string name = core::quoted(work_queue);
    if (entry != nullptr) {
        return nothing_done + ("the entry " + core::quoted(entry->match) + " of `queues:`, which " + name) +
               " belongs to, has neither `outage:` nor `hold:`, so nothing of it is ever held. Add `outage: {}`, which "
               "needs `management`, and reload; `hold: true` holds at once, until it is taken out";
    }
    if (core::is_own_queue(policy, work_queue))
        return nothing_done + name + " is a queue of retryd's own. Name the work queue whose messages fail";
    return nothing_done + ("no entry of `queues:` matches " + name) +
           ", so what fails there is parked, and never held. See the spelling, or add an entry with `outage: {}` and "
           "reload. A source, and what a framework keeps for itself, is no work queue";
}

std::string too_many(std::size_t most) {
    return nothing_done + with_commas(most) +
           " work queues are looked after already, and no more can be. A restart of retryd forgets those that are gone";
}

std::string holds(const std::string& work_queue, const std::string& held_queue) {
    return "what fails in " + core::quoted(work_queue) + " from now on is held in " + core::quoted(held_queue) +
           ", its attempt unspent, until it is released at the desk. A restart of retryd forgets that: what is held is "
           "then tried one by one, and goes home once two have succeeded. For a hold that stays: `hold: true` in its "
           "entry. Other daemons of the same error queue do not know of it";
}

std::string holds_by_entry(const std::string& work_queue) {
    return "what fails in " + core::quoted(work_queue) +
           " is held already: its entry says `hold: true`. That lasts until it is taken out and retryd reloads";
}

std::string holds_already(const std::string& work_queue, core::WallTime since) {
    return "what fails in " + core::quoted(work_queue) + " is held by the desk already, since " + clock_of(since) +
           " UTC";
}

std::string kept_by_entry(const std::string& work_queue) {
    return nothing_done + ("the entry of " + core::quoted(work_queue)) +
           " says `hold: true`, so what fails is held as before. Take `hold` out of the entry and reload: then all of "
           "it goes home";
}

std::string nothing_held(const std::string& work_queue) {
    return nothing_done + ("nothing of " + core::quoted(work_queue)) +
           " is held, so there is nothing to release. `retryd status` and the status page name what is";
}

std::string not_counted_yet(const std::string& work_queue) {
    return nothing_done + ("it is not known yet whether anything of " + core::quoted(work_queue)) +
           " is held: retryd has not counted since it started. Try again in some seconds";
}

std::string not_touched(const std::string& held_queue, const std::string& cause, const std::string& remedy) {
    const std::string why = cause.empty() ? "it may be somebody else's" : cause;
    return nothing_done + ("what lies in " + core::quoted(held_queue)) + " cannot be sent home: " + why +
           (remedy.empty() ? "" : ". " + remedy);
}

std::string releases(const std::string& work_queue, const std::optional<std::uint64_t>& messages, double per_second,
                     bool may_relapse) {
    return "what is held of " + core::quoted(work_queue) + " goes home now: " + messages_in(messages) + ", at first " +
           rate_text(per_second) + ". What fails again spends an attempt" +
           (may_relapse ? "; if nearly all of it fails, it is held again as in an outage" : "");
}

std::string releases_already(const std::string& work_queue, double per_second) {
    return "what is held of " + core::quoted(work_queue) + " is on its way home already, " + rate_text(per_second);
}

std::string clock_of(core::WallTime time) {
    const auto today = time - std::chrono::floor<std::chrono::days>(time);
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(today).count();
    std::string text = "00:00";
    const auto put = [&](std::size_t at, auto number) {
        text[at] = static_cast<char>('0' + number / 10);
        text[at + 1] = static_cast<char>('0' + number % 10);
    };
    put(0, minutes / 60);
    put(3, minutes % 60);
    return text;
}

std::string messages_in(const std::optional<std::uint64_t>& messages) {
    return messages ? with_commas(*messages) + (*messages == 1 ? " message" : " messages") : "messages";
}

std::string rate_text(double rate) {
    return std::to_string(static_cast<std::int64_t>(rate)) + " a second";
}

}  // namespace retryd::daemon::hold_words
