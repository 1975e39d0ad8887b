#include "telemetry/log_reporter.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/duration.h"
#include "core/safe_text.h"

namespace retryd::telemetry {

namespace {

constexpr core::Milliseconds a_minute{60'000};
/// Names come from headers and may be forged.
constexpr std::size_t most_queues = 1'000;
/// Weight of the current minute in the average: after an hour an old value counts a third.
constexpr double of_this_minute = 1.0 / 60.0;
/// A queue without deaths for hours is forgotten.
constexpr double forgotten = 0.01;

}  // namespace

void FailingQueues::died(std::string_view work_queue) {
    const auto known = queues_.find(work_queue);
    if (known != queues_.end()) {
        ++known->second.messages;
    } else if (queues_.size() < most_queues) {
        queues_.emplace(work_queue, Queue{1, 0.0, false});
    }
}

std::vector<FailingQueues::Change> FailingQueues::due(core::SteadyTime now) {
    std::vector<Change> changes;
    if (due_ == core::SteadyTime{}) due_ = now + a_minute;
    if (now < due_) return changes;
    due_ = now + a_minute;
    for (auto& [name, queue] : queues_) {
        const auto messages = static_cast<double>(queue.messages);
        const bool many = queue.messages >= worth_telling && messages >= times_usual * queue.usual;
        const bool few = 2 * queue.messages < worth_telling || messages < times_usual / 2 * queue.usual;
        if (queue.fails ? few : many) {
            queue.fails = !queue.fails;
            changes.push_back({name, queue.messages, queue.usual, queue.fails});
        }
        // Failures that go on for a day become usual as well, and are no longer reported.
        queue.usual += (messages - queue.usual) * (queue.fails ? of_this_minute / 24 : of_this_minute);
        queue.messages = 0;
    }
    std::erase_if(queues_, [](const auto& each) { return !each.second.fails && each.second.usual < forgotten; });
    std::sort(changes.begin(), changes.end(),
              [](const Change& left, const Change& right) { return left.work_queue < right.work_queue; });
    return changes;
}

namespace {

constexpr core::Milliseconds between_sums{300'000};
constexpr core::Milliseconds between_parking_looks{1'000};
/// Names come from headers and may be forged: further ones are not logged.
constexpr std::size_t most_parkings = 1'000;

}  // namespace

bool ParkingLog::parked(std::string_view work_queue, std::string_view reason, std::string_view target,
                        core::SteadyTime now) {
    const auto queue = by_queue_.find(work_queue);
    if (queue != by_queue_.end()) {
        const auto known = queue->second.find(reason);
        if (known != queue->second.end()) {
            ++known->second.messages;
            return false;
        }
    }
    if (size_ >= most_parkings) return false;
    by_queue_[std::string{work_queue}].emplace(reason, Parking{std::string{target}, 0, now + between_sums});
    ++size_;
    return true;
}

std::vector<ParkingLog::Line> ParkingLog::due(core::SteadyTime now) {
    std::vector<Line> lines;
    if (size_ == 0 || now < next_) return lines;
    next_ = now + between_parking_looks;
    for (auto queue = by_queue_.begin(); queue != by_queue_.end();) {
        for (auto each = queue->second.begin(); each != queue->second.end();) {
            Parking& parking = each->second;
            const bool is_due = now >= parking.due;
            const bool over = is_due && parking.messages == 0;
            if (is_due && !over) {
                lines.push_back({queue->first, each->first, parking.target, parking.messages});
                parking.messages = 0;
                parking.due = now + between_sums;
            }
            size_ -= over ? 1 : 0;
            each = over ? queue->second.erase(each) : std::next(each);
        }
        queue = queue->second.empty() ? by_queue_.erase(queue) : std::next(queue);
    }
    return lines;
}

namespace {

using config::LogLevel;

std::string from(std::string_view work_queue) {
    return work_queue.empty() ? std::string{"of no known queue"} : "from " + core::quoted(work_queue);
}

bool is_exchange(relay::TargetRole role) {
    return role == relay::TargetRole::parking_exchange || role == relay::TargetRole::return_exchange;
}

std::string in_quotes(const relay::TargetName& target) {
    const std::string name = core::quoted(target.name);
    return target.work_queue_filter.empty() ? name
                                            : name + " (work queue " + core::quoted(target.work_queue_filter) + ")";
}

std::string named(const relay::TargetName& target) {
    return (is_exchange(target.role) ? "exchange " : "queue ") + in_quotes(target);
}

/// Names contain no line breaks, so the key is unambiguous.
std::string key_of(const relay::TargetName& target) {
    return target.work_queue_filter.empty() ? std::string{target.name}
                                            : std::string{target.name}.append(1, '\n').append(target.work_queue_filter);
}

std::string fault_of_target(std::string_view key) {
    return "failing " + std::string{key};
}

std::string fault_of_refusal(relay::TargetRole role, std::string_view name) {
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
        case relay::Outcome::held:
            return "held";
        case relay::Outcome::detoured:
            return "detoured";
        case relay::Outcome::sent_home:
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
            return "retrying " + whose + " in " + core::quoted(message.target) + ": " + std::string{message.reason};
        case relay::Outcome::parked:
            return "parked " + whose + " in " + core::quoted(message.target) + ": " + std::string{message.reason};
        case relay::Outcome::dropped:
            return "dropped " + whose + ", as configured: " + std::string{message.reason};
        case relay::Outcome::held:
            return "holding " + whose + " in " + core::quoted(message.target) + ", its attempt unspent";
        case relay::Outcome::detoured:
            return whose + " waits on the detour " + core::quoted(message.target) + ", its attempt unspent";
        case relay::Outcome::sent_home:
            return "sent a message home to " + core::quoted(message.work_queue) + ", with its x-death";
        case relay::Outcome::returned_to_queue:
            break;
    }
    return "returned a message to " + core::quoted(message.work_queue) +
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
                   "; is a queue full (max-length with reject-publish: `retryd doctor` finds the policy), or without a "
                   "leader (`rabbitmq-queues quorum_status`)?";
        case relay::RequeueCause::returned:
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

/// What happens to the messages for it meanwhile.
std::string_view meanwhile(relay::TargetRole role) {
    switch (role) {
        case relay::TargetRole::parking:
        case relay::TargetRole::parking_exchange:
            return "Meanwhile they are parked in the catch-all queue, or wait in the queues retryd.detour.*";
        case relay::TargetRole::catch_all:
            return "Meanwhile they wait in the queues retryd.detour.*, and hold up no others";
        case relay::TargetRole::detour:
            return held_in_error_queue;
        default:
            return "Meanwhile they wait in the queues retryd.detour.*, their attempt unspent, and hold up no others";
    }
}

/// What a refusal means for messages.
std::string consequence_of(relay::TargetRole role, std::string_view name) {
    switch (role) {
        case relay::TargetRole::rung:
            return "While that lasts, messages for " + core::quoted(name) +
                   " are parked as unpublishable; if it was there before, since retryd started, they wait in the "
                   "queues retryd.detour.*";
        case relay::TargetRole::held:
            return "While that lasts, messages that should be held in " + core::quoted(name) +
                   " wait in the queues retryd.detour.*, their attempt unspent";
        case relay::TargetRole::catch_all:
            return "While that lasts, messages that belong to no queue wait in the queues retryd.detour.*";
        case relay::TargetRole::detour:
            return "While that lasts, messages whose rung or parking queue takes none stay in the error queue, "
                   "where they hold up others, and what comes from that queue without a proof of retryd's is parked in "
                   "the catch-all queue";
        case relay::TargetRole::parking:
        case relay::TargetRole::parking_exchange:
            return "While that lasts, messages that should be parked in " + core::quoted(name) +
                   " are parked in the catch-all queue";
        case relay::TargetRole::work_queue:
            return "While that lasts, messages that have waited for " + core::quoted(name) +
                   " wait in the queues retryd.detour.*, their attempt unspent";
        case relay::TargetRole::return_exchange:
            return "While that lasts, messages that a shared rung could not deliver stay in the error queue";
        case relay::TargetRole::return_binding:
            return "Without it no shared rung finds the queue: while that lasts, its messages are parked as "
                   "unpublishable";
        case relay::TargetRole::error_binding:
            break;
    }
    return "While that lasts, messages that work queues dead-letter to " + core::quoted(name) + " do not reach retryd";
}

}  // namespace

// ── At most so many lines ───────────────────────────────────────────────────────────────────────────────────────

std::optional<std::int64_t> LogRateLimiter::allow(const std::string& event, const std::string& kind,
                                                  core::SteadyTime now) {
    Event& of_event = events_[event];
    if (of_event.lines == 0 || now - of_event.began >= interval) begin_interval(of_event, now);
    const auto known = of_event.kinds.find(kind);
    const bool too_soon = known != of_event.kinds.end() && now - known->second.written < interval;
    if (too_soon || of_event.lines >= most_lines) {
        ++(known != of_event.kinds.end() ? known->second.suppressed : of_event.suppressed);
        next_ = std::min(next_.value_or(now + interval), now + interval);
        return std::nullopt;
    }
    ++of_event.lines;
    Kind& written = of_event.kinds[kind];
    written.written = now;
    return std::exchange(written.suppressed, 0) + std::exchange(of_event.suppressed, 0);
}

/// Lines held back of forgotten kinds are reported with the next line of any kind.
void LogRateLimiter::begin_interval(Event& event, core::SteadyTime now) {
    event.began = now;
    event.lines = 0;
    std::erase_if(event.kinds, [&](const auto& each) {
        const Kind& kind = each.second;
        if (now - kind.written < 2 * interval) return false;
        event.suppressed += kind.suppressed;
        return true;
    });
}

std::vector<LogRateLimiter::SuppressedLines> LogRateLimiter::take_unreported(core::SteadyTime now) {
    std::vector<SuppressedLines> unreported;
    if (!next_ || now < *next_) return unreported;
    next_.reset();
    for (auto& [name, event] : events_) {
        std::int64_t lines = std::exchange(event.suppressed, 0);
        for (auto& [_, kind] : event.kinds)
            lines += std::exchange(kind.suppressed, 0);
        if (lines > 0) unreported.push_back({name, lines});
    }
    return unreported;
}

namespace {

std::string kind_of(std::string_view work_queue, std::string_view why) {
    return std::string{work_queue}.append(1, '\n').append(why);
}

/// `suppressed` is nothing if the line itself was held back.
std::string with_more(std::string message, const std::optional<std::int64_t>& suppressed) {
    if (!suppressed || *suppressed == 0) return message;
    return message.append(". ").append(std::to_string(*suppressed)).append(" more since the last line like this");
}

}  // namespace

void LogReporter::report_suppressed(core::SteadyTime now) {
    for (const auto& [event, lines] : limiter_.take_unreported(now)) {
        log_.write(LogLevel::warning, "held_back",
                   std::to_string(lines) + " more lines '" + event +
                       "' of this log were held back within a minute: what they tell was told by others like them. "
                       "With log.level: debug all are written",
                   {{"of", event}, {"more", lines}});
    }
}

// ── What the flow reports ───────────────────────────────────────────────────────────────────────────────────────

LogReporter::~LogReporter() {
    for (const std::string& key : failing_targets_)
        faults_.clear(fault_of_target(key));
    for (const std::string& fault : refused_)
        faults_.clear(fault);
}

void LogReporter::settled(const relay::Settled& message) {
    if (!failing_targets_.empty()) {
        recovered({message.role, message.target});
        if (message.role == relay::TargetRole::parking_exchange)
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
    const auto suppressed = limiter_.allow("parking", kind_of(message.work_queue, message.reason), clock_());
    const std::string what = "messages " + from(message.work_queue) + " begin to be parked in " +
                             core::quoted(message.target) + ": " + std::string{message.reason} +
                             ". They are kept there until somebody sends them back: retryd parked list";
    log_.write(suppressed ? LogLevel::warning : LogLevel::debug, "parking", with_more(what, suppressed),
               {{"work_queue", std::string{message.work_queue}},
                {"target", std::string{message.target}},
                {"reason", std::string{message.reason}},
                {"more", suppressed.value_or(0)}});
}

void LogReporter::tick(core::SteadyTime now) {
    for (const ParkingLog::Line& line : parking_.due(now)) {
        const auto suppressed = limiter_.allow("parking_goes_on", kind_of(line.work_queue, line.reason), now);
        const std::string what = std::to_string(line.messages) + " more " +
                                 (line.messages == 1 ? "message " : "messages ") + from(line.work_queue) +
                                 " parked in " + core::quoted(line.target) + " within 5 minutes: " + line.reason;
        log_.write(suppressed ? LogLevel::warning : LogLevel::debug, "parking_goes_on", with_more(what, suppressed),
                   {{"work_queue", line.work_queue},
                    {"target", line.target},
                    {"reason", line.reason},
                    {"messages", static_cast<std::int64_t>(line.messages)},
                    {"more", suppressed.value_or(0)}});
    }
    for (const FailingQueues::Change& change : failing_queues_.due(now)) {
        const std::string counts = std::to_string(change.messages) + " within a minute, usually " +
                                   std::to_string(static_cast<std::uint64_t>(change.usual + 0.5));
        const std::string whose = "messages " + from(change.work_queue);
        if (change.fails) {
            log_.write(LogLevel::warning, "queue_fails",
                       whose + " have begun to fail: " + counts + ". None is lost; see what its consumers say",
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
    const auto suppressed = limiter_.allow("parked_before", std::string{exchange}, clock_());
    const std::string what = "a message that has been parked before is to be parked again in exchange " +
                             core::quoted(exchange) +
                             ": it goes to the catch-all queue instead. Either the exchange leads what is parked there "
                             "back to the error queue (look at its bindings), or somebody has put the message back";
    log_.write(suppressed ? LogLevel::warning : LogLevel::debug, "parked_before", with_more(what, suppressed),
               {{"name", std::string{exchange}}, {"more", suppressed.value_or(0)}});
}

/// Limited by exchange and not by key: producers choose the keys.
void LogReporter::unroutable(std::string_view exchange, std::string_view routing_key) {
    constexpr relay::TargetRole role = relay::TargetRole::parking_exchange;
    const std::string why =
        "exchange " + core::quoted(exchange) + " leads to no queue with routing key " + core::quoted(routing_key);
    raise_refusal(role, exchange, why + ". " + consequence_of(role, exchange) + ". It is tried again every minute");
    const auto suppressed = limiter_.allow("refused", std::string{exchange}, clock_());
    log_.write(suppressed ? LogLevel::error : LogLevel::debug, "refused",
               with_more(why + ". " + consequence_of(role, exchange) + ". It is tried again every minute", suppressed),
               {{"name", std::string{exchange}}, {"cause", why}, {"more", suppressed.value_or(0)}});
}

/// Written at `level` if the limiter allows it, otherwise at debug.
void LogReporter::write_limited(LogLevel level, std::string_view event, const std::string& message,
                                std::string_view work_queue, std::string_view why) {
    const auto suppressed = limiter_.allow(std::string{event}, kind_of(work_queue, why), clock_());
    log_.write(
        suppressed ? level : LogLevel::debug, event, with_more(message, suppressed),
        {{"work_queue", std::string{work_queue}}, {"cause", std::string{why}}, {"more", suppressed.value_or(0)}});
}

/// True if the fault is new; it lasts until a message is settled there.
bool LogReporter::begins_to_fail(const relay::TargetName& target, std::string fault) {
    const std::string key = key_of(target);
    if (!failing_targets_.insert(key).second) return false;
    faults_.raise(fault_of_target(key), std::move(fault));
    return true;
}

void LogReporter::recovered(const relay::TargetName& target) {
    const auto failing =
        target.work_queue_filter.empty() ? failing_targets_.find(target.name) : failing_targets_.find(key_of(target));
    if (failing == failing_targets_.end()) return;
    faults_.clear(fault_of_target(*failing));
    failing_targets_.erase(failing);
    log_.write(LogLevel::info, "target_recovered", in_quotes(target) + " takes messages again",
               {{"target", std::string{target.name}}, {"work_queue", std::string{target.work_queue_filter}}});
}

void LogReporter::silent(const relay::TargetName& target) {
    const std::string what = "the broker does not confirm messages for " + named(target) +
                             ": the queue has no leader (most of its nodes are away: start them), or is very slow. " +
                             std::string{meanwhile(target.role)};
    const bool begins = begins_to_fail(target, what);
    log_.write(begins ? LogLevel::warning : LogLevel::debug, "target_silent", what,
               {{"target", std::string{target.name}}, {"work_queue", std::string{target.work_queue_filter}}});
}

void LogReporter::requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) {
    // A key without a queue is reported by unroutable(): the exchange accepts other keys.
    if (target.role == relay::TargetRole::parking_exchange && cause == relay::RequeueCause::returned) return;
    const bool detour = cause != relay::RequeueCause::detour_refused;
    const std::string what =
        why_requeued(target, cause) + ' ' + std::string{detour ? meanwhile(target.role) : held_in_error_queue};
    const bool begins = begins_to_fail(target, what);
    log_.write(begins ? LogLevel::warning : LogLevel::debug, "requeued", what,
               {{"target", std::string{target.name}},
                {"work_queue", std::string{target.work_queue_filter}},
                {"cause", std::string{name_of(cause)}},
                {"delay_ms", delay.count()}});
}

void LogReporter::raise_refusal(relay::TargetRole role, std::string_view name, std::string_view why) {
    const std::string fault = fault_of_refusal(role, name);
    refused_.insert(fault);
    faults_.raise(fault, std::string{why});
}

void LogReporter::refused(relay::TargetRole role, std::string_view name, std::string_view why) {
    const std::string what = std::string{why} + ". " + consequence_of(role, name) + ". It is tried again every minute";
    raise_refusal(role, name, what);
    // Names of work queues that only a glob matches may be made up.
    const bool limited = role == relay::TargetRole::return_binding;
    const auto suppressed = limited ? limiter_.allow("refused", '\n' + std::string{name}, clock_()) : 0;
    log_.write(suppressed ? LogLevel::error : LogLevel::debug, "refused", with_more(what, suppressed),
               {{"name", std::string{name}}, {"cause", std::string{why}}, {"more", suppressed.value_or(0)}});
}

/// Ends the fault, and is no news: the operator has changed the configuration.
void LogReporter::not_needed(relay::TargetRole role, std::string_view name) {
    const std::string fault = fault_of_refusal(role, name);
    refused_.erase(fault);
    faults_.clear(fault);
}

void LogReporter::healed(relay::TargetRole role, std::string_view name) {
    not_needed(role, name);
    const bool binding = role == relay::TargetRole::return_binding || role == relay::TargetRole::error_binding;
    const std::string what = binding ? "the binding of " + core::quoted(name) : named({role, name});
    log_.write(LogLevel::info, "healed", what + " is as it must be again", {{"name", std::string{name}}});
}

}  // namespace retryd::telemetry
