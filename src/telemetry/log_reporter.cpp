#include "telemetry/log_reporter.h"

#include <utility>

#include "core/duration.h"

namespace retryd::telemetry {

namespace {

using config::LogLevel;

std::string in_quotes(std::string_view name) {
    std::string text{"'"};
    return text.append(name).append("'");
}

std::string from(std::string_view work_queue) {
    return work_queue.empty() ? std::string{"of no known queue"} : "from " + in_quotes(work_queue);
}

bool is_exchange(relay::Role role) {
    return role == relay::Role::parking_exchange || role == relay::Role::return_exchange;
}

std::string in_quotes(const relay::TargetName& target) {
    const std::string name = in_quotes(target.name);
    return target.only_from.empty() ? name : name + " (work queue " + in_quotes(target.only_from) + ")";
}

std::string named(const relay::TargetName& target) {
    return (is_exchange(target.role) ? "exchange " : "queue ") + in_quotes(target);
}

/// No name has a line break in it.
std::string key_of(const relay::TargetName& target) {
    return target.only_from.empty() ? std::string{target.name}
                                    : std::string{target.name}.append(1, '\n').append(target.only_from);
}

std::string fault_of_target(std::string_view key) {
    return "failing " + std::string{key};
}

std::string fault_of_refusal(relay::Role role, std::string_view name) {
    return "refused " + std::to_string(static_cast<int>(role)) + ' ' + std::string{name};
}

std::string_view event_of(relay::Outcome outcome) {
    switch (outcome) {
        case relay::Outcome::retried:
            return "retried";
        case relay::Outcome::parked:
            return "parked";
        case relay::Outcome::dropped:
            return "dropped";
        case relay::Outcome::detoured:
            return "detoured";
        case relay::Outcome::returned_to_queue:
            break;
    }
    return "sent_home";  // docs/logs.md promises this name
}

/// "parked a message from 'email' in 'email.parked': attempts-exhausted"
std::string describe(const relay::Settled& message) {
    const std::string whose = "a message " + from(message.work_queue);
    switch (message.outcome) {
        case relay::Outcome::retried:
            return "retrying " + whose + " in " + in_quotes(message.target) + ": " + std::string{message.reason};
        case relay::Outcome::parked:
            return "parked " + whose + " in " + in_quotes(message.target) + ": " + std::string{message.reason};
        case relay::Outcome::dropped:
            return "dropped " + whose + ", as configured: " + std::string{message.reason};
        case relay::Outcome::detoured:
            return whose + " waits on the detour " + in_quotes(message.target) + ", its attempt unspent";
        case relay::Outcome::returned_to_queue:
            break;
    }
    return "returned a message to " + in_quotes(message.work_queue) +
           ": its shared rung had not found the queue, which is bound again";
}

std::string_view name_of(relay::RequeueCause cause) {
    switch (cause) {
        case relay::RequeueCause::nacked:
            return "nacked";
        case relay::RequeueCause::returned:
            return "returned";
        case relay::RequeueCause::unanswered:
            return "unanswered";
        case relay::RequeueCause::detour_refused:
            return "detour_refused";
        case relay::RequeueCause::channel_closed:
            break;
    }
    return "channel_closed";
}

std::string why_requeued(const relay::TargetName& target, relay::RequeueCause cause) {
    switch (cause) {
        case relay::RequeueCause::nacked:
            return "the broker refused (nacked) a message for " + named(target) +
                   "; is a queue full (max-length with reject-publish), or without a leader?";
        case relay::RequeueCause::returned:
            if (target.role == relay::Role::parking_exchange) return named(target) + " led to no queue.";
            return "nothing leads to " + named(target) + " any more; it is declared again.";
        case relay::RequeueCause::unanswered:
            return "the broker has not answered for 20 minutes what was published to " + named(target) +
                   ": the message is taken back, and may come twice.";
        case relay::RequeueCause::detour_refused:
            return named(target) +
                   " takes no messages, and there is no detour for them: see what is said of it above, and whether the "
                   "queues retryd.detour.* are there and have a leader.";
        case relay::RequeueCause::channel_closed:
            break;
    }
    return "the broker closed the publishing channel while messages for " + named(target) +
           " were in flight: it refuses one of them, or where one was to go. If it is a message, it is found by trying "
           "each alone.";
}

constexpr std::string_view held_in_error_queue =
    "Meanwhile they wait in the error queue, and are tried again with growing pauses";

/// What becomes of the messages for it meanwhile.
std::string_view meanwhile(relay::Role role) {
    switch (role) {
        case relay::Role::parking:
        case relay::Role::parking_exchange:
            return "Meanwhile they are parked in the catch-all queue, or wait in the queues retryd.detour.*";
        case relay::Role::catch_all:
            return "Meanwhile they wait in the queues retryd.detour.*, and hold up no others";
        case relay::Role::detour:
            return held_in_error_queue;
        default:
            return "Meanwhile they wait in the queues retryd.detour.*, their attempt unspent, and hold up no others";
    }
}

/// What a refusal means for messages.
std::string consequence_of(relay::Role role, std::string_view name) {
    switch (role) {
        case relay::Role::rung:
            return "While that lasts, messages for " + in_quotes(name) +
                   " are parked as unpublishable; if it was used before, they wait in the queues retryd.detour.*";
        case relay::Role::catch_all:
            return "While that lasts, messages that belong to no queue wait in the queues retryd.detour.*";
        case relay::Role::detour:
            return "While that lasts, messages whose rung or parking queue takes none are held in the error queue, "
                   "where they hold up others";
        case relay::Role::parking:
        case relay::Role::parking_exchange:
            return "While that lasts, messages that should be parked in " + in_quotes(name) +
                   " are parked in the catch-all queue";
        case relay::Role::return_exchange:
            return "While that lasts, messages that a shared rung could not deliver are held in the error queue";
        case relay::Role::return_binding:
            return "Without it no shared rung finds the queue: while that lasts, its messages are parked as "
                   "unpublishable";
        case relay::Role::error_binding:
            break;
    }
    return "While that lasts, messages that work queues dead-letter to " + in_quotes(name) + " do not reach retryd";
}

}  // namespace

std::optional<std::int64_t> LogRateLimiter::allow(const std::string& kind, core::SteadyTime now) {
    constexpr core::Milliseconds interval{60'000};
    // The names of queues and the broker's own words are part of a kind: so many different ones are made on purpose.
    constexpr std::size_t most_kinds = 1'000;
    if (kinds_.size() >= most_kinds) kinds_.clear();
    const auto [found, is_new] = kinds_.try_emplace(kind, Kind{now, 0});
    if (is_new) return 0;
    Kind& known = found->second;
    if (now - known.written < interval) {
        ++known.held_back;
        return std::nullopt;
    }
    known.written = now;
    return std::exchange(known.held_back, 0);
}

LogReporter::~LogReporter() {
    for (const std::string& key : failing_targets_)
        faults_.clear(fault_of_target(key));
    for (const std::string& fault : refused_)
        faults_.clear(fault);
}

void LogReporter::settled(const relay::Settled& message) {
    if (!failing_targets_.empty()) {
        recovered({message.role, message.target});
        if (message.role == relay::Role::parking_exchange)
            recovered({message.role, message.target, message.work_queue});
    }
    count(message);
    if (!log_.enabled(LogLevel::debug)) return;
    log_.write(LogLevel::debug, event_of(message.outcome), describe(message),
               {{"work_queue", std::string{message.work_queue}},
                {"target", std::string{message.target}},
                {"reason", std::string{message.reason}},
                {"confirm_ms", message.confirm_time.count()}});
}

void LogReporter::count(const relay::Settled& message) {
    using relay::Outcome;
    const bool parked = message.outcome == Outcome::parked;
    if ((message.outcome == Outcome::retried || parked) && !message.work_queue.empty())
        failing_queues_.died(message.work_queue);
    if (!parked || !parking_.parked(message.work_queue, message.reason, message.target, clock_())) return;
    log_.write(LogLevel::warning, "parking",
               "messages " + from(message.work_queue) + " begin to be parked in " + in_quotes(message.target) + ": " +
                   std::string{message.reason} +
                   ". They are kept there until somebody sends them back: retryd parked list",
               {{"work_queue", std::string{message.work_queue}},
                {"target", std::string{message.target}},
                {"reason", std::string{message.reason}}});
}

void LogReporter::tick(core::SteadyTime now) {
    for (const ParkingLog::Line& line : parking_.due(now)) {
        log_.write(LogLevel::warning, "parking_goes_on",
                   std::to_string(line.messages) + " more " + (line.messages == 1 ? "message " : "messages ") +
                       from(line.work_queue) + " parked in " + in_quotes(line.target) +
                       " within 5 minutes: " + line.reason,
                   {{"work_queue", line.work_queue},
                    {"target", line.target},
                    {"reason", line.reason},
                    {"messages", static_cast<std::int64_t>(line.messages)}});
    }
    for (const FailingQueues::Change& change : failing_queues_.due(now)) {
        const std::string counts = std::to_string(change.messages) + " within a minute, usually " +
                                   std::to_string(static_cast<std::uint64_t>(change.usual + 0.5));
        const std::string whose = "messages " + from(change.work_queue);
        if (change.fails) {
            log_.write(LogLevel::warning, "queue_fails",
                       whose + " have begun to fail: " + counts +
                           ". They are retried on their ladder; see what its consumers say",
                       {{"work_queue", change.work_queue}, {"messages", static_cast<std::int64_t>(change.messages)}});
        } else {
            log_.write(LogLevel::info, "queue_recovers", whose + " fail no more than usual: " + counts,
                       {{"work_queue", change.work_queue}, {"messages", static_cast<std::int64_t>(change.messages)}});
        }
    }
}

void LogReporter::dead_lettered(std::string_view work_queue, std::string_view why) {
    write_limited(LogLevel::warning, "dead_lettered",
                  "a message " + from(work_queue) + " cannot be published again: " + std::string{why} +
                      ". The broker moves it to the catch-all queue as it is; look at it there",
                  work_queue, why);
}

void LogReporter::stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) {
    write_limited(
        LogLevel::error, "stuck",
        "a message " + from(work_queue) + " cannot be published again: " + std::string{why} +
            ". With `declare: false` retryd does not know whether the error queue would dead-letter it, so it "
            "stays there, and is tried again every " +
            core::format_duration(delay) + ". Take it out by hand",
        work_queue, why);
}

void LogReporter::parked_before(std::string_view exchange) {
    const auto held_back = limiter_.allow("parked_before\n" + std::string{exchange}, clock_());
    const bool more = held_back && *held_back > 0;
    const std::string what = "a message that has been parked before is to be parked again in exchange " +
                             in_quotes(exchange) +
                             ": it goes to the catch-all queue instead. Either the exchange leads what is parked there "
                             "back to the error queue (look at its bindings), or somebody has put the message back";
    log_.write(held_back ? LogLevel::warning : LogLevel::debug, "parked_before",
               more ? what + ". " + std::to_string(*held_back) + " more since the last line like this" : what,
               {{"name", std::string{exchange}}, {"more", held_back.value_or(0)}});
}

/// At debug, but at `level` where the limiter lets it through.
void LogReporter::write_limited(LogLevel level, std::string_view event, const std::string& message,
                                std::string_view work_queue, std::string_view why) {
    const std::string kind = std::string{event}.append(1, '\n').append(work_queue).append(1, '\n').append(why);
    const auto held_back = limiter_.allow(kind, clock_());
    const bool more = held_back && *held_back > 0;
    log_.write(held_back ? level : LogLevel::debug, event,
               more ? message + ". " + std::to_string(*held_back) + " more since the last line like this" : message,
               {{"work_queue", std::string{work_queue}}, {"cause", std::string{why}}, {"more", held_back.value_or(0)}});
}

/// True when this is news: the fault lasts until a message is settled there.
bool LogReporter::begins_to_fail(const relay::TargetName& target, std::string fault) {
    const std::string key = key_of(target);
    if (!failing_targets_.insert(key).second) return false;
    faults_.raise(fault_of_target(key), std::move(fault));
    return true;
}

void LogReporter::recovered(const relay::TargetName& target) {
    const auto failing =
        target.only_from.empty() ? failing_targets_.find(target.name) : failing_targets_.find(key_of(target));
    if (failing == failing_targets_.end()) return;
    faults_.clear(fault_of_target(*failing));
    failing_targets_.erase(failing);
    log_.write(LogLevel::info, "target_recovered", in_quotes(target) + " takes messages again",
               {{"target", std::string{target.name}}, {"work_queue", std::string{target.only_from}}});
}

void LogReporter::silent(const relay::TargetName& target) {
    const std::string what = "the broker does not confirm messages for " + named(target) +
                             ": the queue has no leader (most of its nodes are away), or is very slow. " +
                             std::string{meanwhile(target.role)};
    const bool begins = begins_to_fail(target, what);
    log_.write(begins ? LogLevel::warning : LogLevel::debug, "target_silent", what,
               {{"target", std::string{target.name}}, {"work_queue", std::string{target.only_from}}});
}

void LogReporter::requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) {
    const bool detour = cause != relay::RequeueCause::detour_refused;
    const std::string what =
        why_requeued(target, cause) + ' ' + std::string{detour ? meanwhile(target.role) : held_in_error_queue};
    const bool begins = begins_to_fail(target, what);
    log_.write(begins ? LogLevel::warning : LogLevel::debug, "requeued", what,
               {{"target", std::string{target.name}},
                {"work_queue", std::string{target.only_from}},
                {"cause", std::string{name_of(cause)}},
                {"delay_ms", delay.count()}});
}

void LogReporter::refused(relay::Role role, std::string_view name, std::string_view why) {
    const std::string fault = fault_of_refusal(role, name);
    refused_.insert(fault);
    faults_.raise(fault, std::string{why});
    log_.write(LogLevel::error, "refused",
               std::string{why} + ". " + consequence_of(role, name) + ". It is tried again every minute",
               {{"name", std::string{name}}, {"cause", std::string{why}}});
}

void LogReporter::healed(relay::Role role, std::string_view name) {
    const std::string fault = fault_of_refusal(role, name);
    refused_.erase(fault);
    faults_.clear(fault);
    const bool binding = role == relay::Role::return_binding || role == relay::Role::error_binding;
    const std::string what = binding ? "the binding of " + in_quotes(name) : named({role, name});
    log_.write(LogLevel::info, "healed", what + " is as it must be again", {{"name", std::string{name}}});
}

}  // namespace retryd::telemetry
