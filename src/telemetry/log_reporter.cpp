#include "telemetry/log_reporter.h"

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

}  // namespace

void LogReporter::settled(const relay::Settled& message) {
    if (const auto failing = failing_.find(message.target); failing != failing_.end()) {
        failing_.erase(failing);
        log_.write(LogLevel::info, "target_recovered", "queue " + in_quotes(message.target) + " takes messages again",
                   {{"queue", std::string{message.target}}});
    }
    if (!log_.enabled(LogLevel::debug)) return;
    const std::string what = message.parked ? "parked a message " : "retrying a message ";
    log_.write(
        LogLevel::debug, message.parked ? "parked" : "retried",
        what + from(message.work_queue) + " in " + in_quotes(message.target) + ": " + std::string{message.reason},
        {{"work_queue", std::string{message.work_queue}},
         {"queue", std::string{message.target}},
         {"reason", std::string{message.reason}},
         {"confirm_ms", std::to_string(message.confirm_time.count())}});
}

void LogReporter::dead_lettered(std::string_view work_queue, std::string_view why) {
    log_.write(LogLevel::warning, "dead_lettered",
               "a message " + from(work_queue) + " cannot be published again: " + std::string{why} +
                   ". The broker moves it to the catch-all queue as it is; look at it there",
               {{"work_queue", std::string{work_queue}}, {"cause", std::string{why}}});
}

void LogReporter::requeued(std::string_view target, relay::RequeueCause cause, core::Milliseconds delay) {
    const bool nacked = cause == relay::RequeueCause::nacked;
    const std::string why = nacked ? "the broker refused (nacked) a message for queue " + in_quotes(target) +
                                         "; is it full (max-length with reject-publish), or without a leader?"
                                   : "queue " + in_quotes(target) + " is not there; it will be declared again";
    const bool said = !failing_.try_emplace(std::string{target}, cause).second;
    log_.write(said ? LogLevel::debug : LogLevel::warning, "requeued",
               why + " Messages for it go back to the error queue and are tried again, with growing pauses (now " +
                   core::format_duration(delay) + ")",
               {{"queue", std::string{target}},
                {"cause", nacked ? "nacked" : "returned"},
                {"delay_ms", std::to_string(delay.count())}});
}

void LogReporter::target_refused(std::string_view queue, std::string_view why) {
    log_.write(LogLevel::error, "queue_refused",
               std::string{why} + ". Until then messages for " + in_quotes(queue) +
                   " are parked: those of a rung as unpublishable, those of a parking queue in the catch-all. It is "
                   "asked for again every minute",
               {{"queue", std::string{queue}}, {"cause", std::string{why}}});
}

void LogReporter::target_healed(std::string_view queue) {
    log_.write(LogLevel::info, "queue_healed", "queue " + in_quotes(queue) + " is as it must be again",
               {{"queue", std::string{queue}}});
}

}  // namespace retryd::telemetry
