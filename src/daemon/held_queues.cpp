#include "daemon/held_queues.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/names.h"
#include "core/safe_text.h"

namespace retryd::daemon {

namespace {

// ── Answers ──
//
// The desk's answers to somebody who holds or releases a work queue: why nothing was done, or what happens next. Each
// gives the cause, the consequence and the remedy.

namespace answers {

constexpr const char* nothing_done = "nothing was done: ";

std::string with_commas(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3)
        text.insert(at - 3, 1, ',');
    return text;
}

/// `14:02`, UTC.
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

/// `12,400 messages`, or `messages` if the number is unknown.
std::string messages_in(const std::optional<std::uint64_t>& messages) {
    return messages ? with_commas(*messages) + (*messages == 1 ? " message" : " messages") : "messages";
}

/// `50 a second`
std::string rate_text(double rate) {
    return std::to_string(static_cast<std::int64_t>(rate)) + " a second";
}

/// `entry` is null, or may not hold.
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
           ", its attempt unspent, until it is released at the desk. A restart of retryd forgets that, and so does a "
           "reload that names another broker: what is held is "
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
           " is held: retryd has not counted since it started. Try again in some seconds, and for a queue that a "
           "pattern matches in a minute";
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

}  // namespace answers

// ── The queues ──

using answers::clock_of;
using answers::messages_in;
using answers::rate_text;
using config::LogLevel;
using core::Milliseconds;
using core::Outage;

/// How long after the start it may be unknown whether an earlier run held messages. Usually that takes about a second;
/// if the broker does not answer, nothing waits longer than this.
constexpr Milliseconds known_within{5'000};
/// The same for a queue that only a glob matches: its held messages have to be searched for (HeldSearch).
constexpr Milliseconds searched_within{60'000};
/// How long until it is asked again what an earlier run has held.
constexpr Milliseconds first_pause_of_questions{5'000};
constexpr Milliseconds longest_pause_of_questions{60'000};
/// The names come from headers that any client may write.
constexpr std::size_t most_queues = 10'000;

/// None of the new nodes is one of the former ones: another node of the same cluster comes with one of those, as a
/// rule.
bool is_another_broker(const config::Broker& from, const config::Broker& to) {
    return std::none_of(to.endpoints.begin(), to.endpoints.end(), [&](const config::Endpoint& now) {
        return std::any_of(from.endpoints.begin(), from.endpoints.end(),
                           [&](const config::Endpoint& before) { return before.is_same_vhost(now); });
    });
}

std::string in_seconds(Milliseconds time) {
    return std::to_string(std::chrono::round<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

void HeldQueues::adopt(const std::shared_ptr<const config::Settings>& settings, const core::Now& now) {
    const std::lock_guard lock(mutex_);
    if (settings_ && settings_->broker.endpoints != settings->broker.endpoints) {
        unknown_.clear();
        pause_.clear();
        if (is_another_broker(settings_->broker, settings->broker)) leave_broker();
    }
    settings_ = settings;
    if (!began_) began_ = now.steady;
    for (const core::Entry& entry : settings->policy.entries) {
        if (core::is_glob(entry.match)) continue;
        if (core::may_hold(entry)) {
            add(entry.match, now);
        } else if (pause_.emplace(entry.match, first_pause_of_questions).second) {
            unknown_.emplace(now.steady, entry.match);
        }
    }
    for (auto& [work_queue, queue] : queues_) {
        follow_entry(queue, now);
        tell(queue);
    }
}

/// What is known of its queues says nothing about those of the same names elsewhere, which may be somebody else's.
void HeldQueues::leave_broker() {
    for (const auto& [work_queue, queue] : queues_) {
        const bool some = queue.not_home().value_or(0) > 0 && queue.whose != Whose::not_ours;
        if (!some && !queue.held_at_desk) continue;
        std::string what =
            "left on the broker and vhost of the former configuration: " + messages_in(queue.not_home()) + " held in " +
            core::quoted(queue.held_queue) +
            ". A retryd sends them home that is connected there and has an entry for " + core::quoted(work_queue);
        if (queue.held_at_desk) what += ". The desk's hold is forgotten: hold it again here if that is wanted";
        log_.write(LogLevel::warning, "left_behind", what, {{"queue", work_queue}});
    }
    queues_.clear();
    told_without_entry_.clear();
    began_.reset();
}

void HeldQueues::follow_entry(Queue& queue, const core::Now& now) const {
    const core::Entry* const entry = core::match(settings_->policy, queue.work_queue);
    if (entry == nullptr) return lose_entry(queue, now);
    queue.shared = entry->ladder.return_path == core::ReturnPath::headers;
    const bool configured = core::may_hold(*entry);
    const bool another = configured != queue.configured || !queue.known_entry;
    if (another && queue.whose != Whose::ours) queue.whose = Whose::unknown;
    queue.configured = configured;
    queue.was_configured = queue.was_configured || configured;
    queue.known_entry = true;
    // A hold in the entry replaces one made at the desk: whoever later removes `hold` from the entry wants to release.
    // And without a desk nobody could release it.
    const bool desk = settings_->http && settings_->http->admin;
    if (!configured || entry->hold || !desk) queue.held_at_desk.reset();
    queue.outage.adopt(entry->outage, now);
    queue.outage.by_hand(entry->hold || queue.held_at_desk.has_value(), now);
}

/// What retryd itself has held so far still goes home: an entry matched at that time. What comes later is not released.
void HeldQueues::lose_entry(Queue& queue, const core::Now& now) {
    const bool with_this_reload = std::exchange(queue.known_entry, false);
    queue.configured = false;
    queue.was_configured = false;
    queue.held_at_desk.reset();
    if (queue.whose == Whose::ours) queue.whose = Whose::ours_where_proven;
    queue.outage.adopt(std::nullopt, now);
    queue.outage.by_hand(false, now);
    const bool some = queue.not_home().value_or(0) > 0 && queue.whose != Whose::not_ours;
    if (with_this_reload && some) queue.outage.found_held(false, now);
}

HeldQueues::Queue* HeldQueues::add(std::string_view work_queue, const core::Now& now) {
    if (const auto known = queues_.find(work_queue); known != queues_.end()) return &known->second;
    if (!settings_ || queues_.size() >= most_queues) return nullptr;
    Queue queue{std::string{work_queue}, core::held_name(work_queue), core::Outage{std::nullopt}};
    follow_entry(queue, now);
    return &queues_.emplace(std::string{work_queue}, std::move(queue)).first->second;
}

core::KnownOutage HeldQueues::known_outage(std::string_view work_queue, core::SteadyTime now) const {
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(work_queue);
    core::KnownOutage known = found == queues_.end() ? core::KnownOutage{} : found->second.outage.known(now);
    const bool start_content_known = found != queues_.end() && found->second.start_content_known;
    known.not_yet_known = !known.holding && !start_content_known && began_ && now - *began_ < known_within;
    return known;
}

void HeldQueues::settled(const relay::Settled& message, const core::Now& now) {
    const bool held = message.outcome == relay::Outcome::held;
    if ((message.attempt == 0 && !held) || message.work_queue.empty()) return;
    const std::lock_guard lock(mutex_);
    const auto known = queues_.find(message.work_queue);
    Queue* queue = known == queues_.end() ? nullptr : &known->second;
    if (queue == nullptr) {
        const core::Entry* const entry = settings_ ? core::match(settings_->policy, message.work_queue) : nullptr;
        if (!held && (entry == nullptr || !core::may_hold(*entry))) return;
        queue = add(message.work_queue, now);
        if (queue == nullptr) return;
    }
    if (held) {
        queue->held_queue = message.target;
        queue->messages = queue->messages.value_or(0) + 1;
    }
    if (message.attempt > 0) queue->outage.failed(message.attempt, message.was_held, now);
    tell(*queue);
}

std::optional<std::string> HeldQueues::take_unknown(core::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (settings_ && settings_->management) return std::nullopt;
    if (unknown_.empty() || now < unknown_.begin()->first) return std::nullopt;
    return std::move(unknown_.extract(unknown_.begin()).mapped());
}

void HeldQueues::found_nothing(const std::string& work_queue, core::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    Milliseconds& pause = pause_.try_emplace(work_queue, first_pause_of_questions).first->second;
    unknown_.emplace(now + pause, work_queue);
    pause = std::min(2 * pause, longest_pause_of_questions);
}

void HeldQueues::found(const std::string& work_queue, const std::string& held_queue, bool arguments_seen,
                       const core::Now& now) {
    const std::lock_guard lock(mutex_);
    const bool known = queues_.contains(work_queue);
    Queue* const queue = add(work_queue, now);
    if (queue == nullptr) return;
    queue->arguments_seen = queue->arguments_seen || arguments_seen;
    if (!known) queue->held_queue = held_queue;
}

void HeldQueues::found_without_entry(const std::string& held_queue, std::uint64_t messages) {
    const std::lock_guard lock(mutex_);
    const std::string work_queue = held_queue.substr(0, held_queue.size() - core::held_suffix.size());
    if (queues_.contains(work_queue) || told_without_entry_.size() >= most_queues) return;
    if (!told_without_entry_.insert(held_queue).second) return;
    const std::string cause = "no entry of `queues:` matches its work queue";
    log_.write(LogLevel::warning, "release_failed",
               messages_in(messages) + " held in " + core::quoted(held_queue) + " cannot be sent home: " + cause +
                   ", and without one retryd touches nothing there. Add an entry for " + core::quoted(work_queue) +
                   " and reload: then they are sent home",
               {{"queue", work_queue}, {"cause", cause}});
}

std::vector<std::string> HeldQueues::names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [work_queue, queue] : queues_)
        names.push_back(work_queue);
    return names;
}

std::vector<std::string> HeldQueues::wanting_counters(core::SteadyTime now) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [work_queue, queue] : queues_) {
        if (queue.outage.wants_counters(now)) names.push_back(work_queue);
    }
    return names;
}

// ── At the desk ─────────────────────────────────────────────────────────────────────────────────────────────────

admin::HoldAnswer HeldQueues::hold(const std::string& work_queue, const core::Now& now) {
    const std::lock_guard lock(mutex_);
    if (!settings_) return {.refusal = answers::not_counted_yet(work_queue)};
    const core::Entry* const entry = core::match(settings_->policy, work_queue);
    if (entry == nullptr || !core::may_hold(*entry))
        return {.refusal = answers::may_not_hold(settings_->policy, entry, work_queue)};
    Queue* const queue = add(work_queue, now);
    if (queue == nullptr) return {.refusal = answers::too_many(most_queues)};
    admin::HoldAnswer answer{.held_queue = queue->held_queue, .holding = true, .messages = queue->not_home()};
    if (entry->hold) {
        answer.said = answers::holds_by_entry(work_queue);
    } else if (queue->held_at_desk) {
        answer.said = answers::holds_already(work_queue, *queue->held_at_desk);
    } else {
        const bool by_itself = queue->outage.state() == Outage::State::holding;
        queue->held_at_desk = now.wall;
        queue->outage.by_hand(true, now);
        if (by_itself) tell_hold(*queue);
        tell(*queue);
        answer.said = answers::holds(work_queue, queue->held_queue);
    }
    return answer;
}

admin::HoldAnswer HeldQueues::release(const std::string& work_queue, const core::Now& now) {
    const std::lock_guard lock(mutex_);
    const core::Entry* const entry = settings_ ? core::match(settings_->policy, work_queue) : nullptr;
    const auto found = queues_.find(work_queue);
    if (const std::string refusal = why_not_released(work_queue, entry, now.steady); !refusal.empty())
        return {.refusal = refusal};
    Queue& queue = found->second;
    admin::HoldAnswer answer{.held_queue = queue.held_queue, .messages = queue.not_home()};
    const bool already = queue.outage.state() == Outage::State::releasing;
    queue.held_at_desk.reset();
    queue.outage.held_by_hand() ? queue.outage.by_hand(false, now) : queue.outage.release(now);
    tell(queue);
    answer.per_second = queue.outage.rate();
    answer.said = already
                      ? answers::releases_already(work_queue, answer.per_second)
                      : answers::releases(work_queue, queue.not_home(), answer.per_second, entry->outage.has_value());
    return answer;
}

/// Call with the mutex held. Empty if it can be released.
std::string HeldQueues::why_not_released(const std::string& work_queue, const core::Entry* entry,
                                         core::SteadyTime now) const {
    if (!settings_) return answers::not_counted_yet(work_queue);
    if (entry == nullptr) return answers::may_not_hold(settings_->policy, entry, work_queue);
    if (entry->hold) return answers::kept_by_entry(work_queue);
    const auto found = queues_.find(work_queue);
    if (found == queues_.end()) {
        if (!core::may_hold(*entry)) return answers::may_not_hold(settings_->policy, entry, work_queue);
        const bool searched = began_ && now - *began_ >= searched_within;
        return searched ? answers::nothing_held(work_queue) : answers::not_counted_yet(work_queue);
    }
    const Queue& queue = found->second;
    if (queue.held_at_desk) return "";
    const std::uint64_t lie_there = queue.messages.value_or(0);
    // Another application's queue is not touched, and messages that cannot go home at all stay.
    const bool stays = lie_there > 0 && (queue.whose == Whose::not_ours || lie_there <= queue.stays);
    if (stays) return answers::not_touched(queue.held_queue, queue.fault.cause, queue.fault.remedy);
    if (queue.outage.state() != Outage::State::none || lie_there > 0) return "";
    return queue.messages ? answers::nothing_held(work_queue) : answers::not_counted_yet(work_queue);
}

// ── For those who show it ───────────────────────────────────────────────────────────────────────────────────────

std::vector<HeldQueues::Shown> HeldQueues::shown(core::SteadyTime now) const {
    const std::lock_guard lock(mutex_);
    std::vector<Shown> shown;
    for (const auto& [work_queue, queue] : queues_) {
        Shown each{work_queue,
                   queue.held_queue,
                   queue.outage.state(),
                   queue.outage.held_by_hand(),
                   queue.not_home(),
                   queue.outage.since(),
                   queue.held_at_desk,
                   {},
                   {},
                   queue.outage.rate()};
        if (const auto failed = queue.outage.last_probe_failed()) each.probe_failed_ago = now - *failed;
        if (each.state == Outage::State::holding) {
            if (const auto next = queue.outage.next_send(now)) each.next_in = std::max(*next - now, Milliseconds{0});
        }
        if (each.state == Outage::State::none) each.since.reset();
        if (queue.whose == Whose::not_ours) each.messages.reset();
        if (queue.whose == Whose::not_ours && !queue.configured) continue;
        shown.push_back(std::move(each));
    }
    return shown;
}

void HeldQueues::tell_hold(const Queue& queue) {
    const std::string whose = core::quoted(queue.work_queue);
    const std::string where = core::quoted(queue.held_queue);
    std::string text = "an outage: what fails in " + whose + " is held in " + where +
                       ", its attempt unspent. One message is sent home now and then; two that succeed end it. Look "
                       "after what the consumers of " +
                       whose + " need";
    if (queue.held_at_desk) {
        text = "holding what fails in " + whose + ", as was asked for at the desk: it waits in " + where +
               ", its attempt unspent, until it is released there. A restart of retryd forgets that";
    } else if (queue.outage.held_by_hand()) {
        text = "holding what fails in " + whose + ", as configured (hold: true): it waits in " + where +
               ", its attempt unspent, until `hold` is taken out of the entry";
    }
    log_.write(LogLevel::warning, "outage_began", text, {{"queue", queue.work_queue}});
}

void HeldQueues::tell(Queue& queue) {
    const std::string whose = core::quoted(queue.work_queue);
    const std::string where = core::quoted(queue.held_queue);
    if (queue.fault != queue.reported_fault) {
        queue.reported_fault = queue.fault;
        if (!queue.fault.cause.empty()) {
            log_.write(
                LogLevel::warning, "release_failed",
                "what is held in " + where + " cannot be sent home: " + queue.fault.cause +
                    (queue.whose == Whose::not_ours ? ". It stays there. " : ". It stays there, and is tried again. ") +
                    queue.fault.remedy,
                {{"queue", queue.work_queue}, {"cause", queue.fault.cause}});
        }
    }
    if (std::exchange(queue.reported_gone, queue.gone) != queue.gone && queue.gone) {
        log_.write(LogLevel::warning, "parking",
                   "messages from " + whose + " that were held begin to be parked in " +
                       core::quoted(settings_->policy.catch_all) +
                       ": queue-gone. They are kept there until somebody sends them back: retryd parked list",
                   {{"work_queue", queue.work_queue}, {"target", settings_->policy.catch_all}});
    }
    for (const Outage::Event event : queue.outage.take_events()) {
        const telemetry::LogField field{"queue", queue.work_queue};
        switch (event) {
            case Outage::Event::begun:
                tell_hold(queue);
                break;
            case Outage::Event::relapsed:
                log_.write(LogLevel::warning, "outage_relapsed",
                           "what was sent home to " + whose + " failed again: it is held in " + where +
                               " as before. Look after what the consumers of " + whose + " need",
                           {field});
                break;
            case Outage::Event::releasing:
                log_.write(LogLevel::info, "outage_releasing",
                           "sending home what is held in " + where + " (" + messages_in(queue.not_home()) +
                               "), at first " + rate_text(queue.outage.rate()),
                           {field});
                break;
            case Outage::Event::over:
                queue.gone = false;
                log_.write(LogLevel::info, "outage_over", "nothing of " + whose + " is held any more", {field});
                break;
        }
    }
}

std::string describe(const HeldQueues::Shown& held) {
    switch (held.state) {
        case Outage::State::none:
            return held.messages.value_or(0) == 0 ? "" : messages_in(held.messages) + " held";
        case Outage::State::releasing:
            return "releasing: " + messages_in(held.messages) + " left, " + rate_text(held.rate);
        case Outage::State::holding:
            break;
    }
    std::string text = "holding: " + messages_in(held.messages);
    if (held.since) text += " since " + clock_of(*held.since);
    if (held.held_at_desk) return text + ", by the desk since " + clock_of(*held.held_at_desk);
    if (held.by_hand) return text + ", by hand";
    if (held.probe_failed_ago) text += ", last probe failed " + in_seconds(*held.probe_failed_ago) + " ago";
    if (held.next_in) text += ", next in " + in_seconds(*held.next_in);
    return text;
}

}  // namespace retryd::daemon
