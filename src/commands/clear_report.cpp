#include <ostream>

#include "commands/counted.h"
#include "commands/heading.h"
#include "commands/json.h"
#include "commands/parked_clear.h"
#include "commands/safe_text.h"

namespace retryd::commands {
namespace {

using End = relay::Clearance::End;
std::string what_to_mend(const relay::ClearanceCounts& counts) {
    if (counts.refused > counts.failed) return "The queue refuses them: is it full? Make room there first.";
    if (counts.unrouted > counts.failed) return "Their queue is gone: declare it again, or name another with --to.";
    return "Mend the consumer first: what was sent and rejected climbs the ladder once more.";
}

/// What became of the run, and what to do; empty where it went to its end.
std::string ending(const ClearedQueue& queue, const ClearReport& report) {
    const Cleared& cleared = queue.cleared;
    const std::string again = " What is left stays where it was, in its order; the same command goes on with it.";
    if (!cleared.fault.empty()) {
        return "The connection was lost: " + cleared.fault +
               ". Nothing is lost: what was not settled is still parked, and the last few may be there twice." + again;
    }
    switch (cleared.end) {
        case End::failures:
            return "Stopped: " + counted(cleared.counts.failures(), "message", "messages") +
                   " failed again, and --stop-after allows " + std::to_string(report.stop_above.value_or(0)) + ". " +
                   what_to_mend(cleared.counts) + again;
        case End::interrupted:
            return "Interrupted: all that was sent is confirmed and settled." + again;
        case End::held:
            return "Stopped: a consumer cannot hold more messages than this, and none of them can go. Select the ones "
                   "in front first, or drop them." +
                   again;
        case End::broker:
            return "Stopped: " + cleared.why + ". What is still parked stays; the same command goes on with it.";
        case End::all:
        case End::none:
            break;
    }
    return "";
}

std::string key_of(const Cleared& cleared) {
    if (!cleared.fault.empty()) return "connection lost";
    switch (cleared.end) {
        case End::failures:
            return "failures";
        case End::interrupted:
            return "interrupted";
        case End::held:
            return "held";
        case End::broker:
            return "broker";
        case End::all:
        case End::none:
            break;
    }
    return "all";
}

Rows rows_of(const ClearedQueue& queue, bool drop) {
    const relay::ClearanceCounts& counts = queue.cleared.counts;
    Rows rows{{drop ? "dropped" : "replayed", std::to_string(counts.done) + " of " + std::to_string(queue.selected)}};
    const auto add = [&](const char* name, std::size_t number) {
        if (number > 0) rows.push_back({name, std::to_string(number)});
    };
    add("failed again since", counts.failed);
    add("came back parked", counts.came_back);
    add("refused by the queue", counts.refused);
    add("could not be routed", counts.unrouted);
    add("headers too large", counts.too_large);
    add("no work queue to go to", counts.without_home);
    add("outcome unknown", counts.unknown);
    return rows;
}

Json json_of(const ClearedQueue& queue) {
    const relay::ClearanceCounts& counts = queue.cleared.counts;
    return {{"queue", queue.name},
            {"selected", queue.selected},
            {"done", counts.done},
            {"failed_again", counts.failed},
            {"came_back", counts.came_back},
            {"refused", counts.refused},
            {"unrouted", counts.unrouted},
            {"headers_too_large", counts.too_large},
            {"work_queue_unknown", counts.without_home},
            {"outcome_unknown", counts.unknown},
            {"ended", key_of(queue.cleared)},
            {"why", queue.cleared.why.empty() ? Json() : Json(queue.cleared.why)},
            {"fault", queue.cleared.fault.empty() ? Json() : Json(queue.cleared.fault)}};
}

void print_dry_run(const ClearReport& report, const ParkedDesk& desk, bool colour, std::ostream& out) {
    print_survey(report.survey, desk, colour, out);
    if (report.survey.selected() == 0) {
        out << "\nNothing is selected, so nothing was changed.\n";
        return;
    }
    out << "\nNothing was changed. Without --dry-run " << counted(report.survey.selected(), "message", "messages")
        << " would be " << (report.drop ? "dropped" : "replayed") << ".\n";
}

}  // namespace

std::size_t ClearReport::done() const {
    std::size_t sum = 0;
    for (const ClearedQueue& queue : queues)
        sum += queue.cleared.counts.done;
    return sum;
}

std::size_t ClearReport::failed() const {
    std::size_t sum = 0;
    for (const ClearedQueue& queue : queues)
        sum += queue.cleared.counts.failures();
    return sum;
}

bool ClearReport::ok() const {
    if (!survey.complete()) return false;
    if (stop_above && failed() > *stop_above) return false;
    return dry_run || done() == survey.selected();
}

void print_clear_report(const ClearReport& report, const ParkedDesk& desk, bool colour, std::ostream& out) {
    for (const std::string& note : report.notes)
        out << "Note: " << safe_line(note) << ".\n";
    if (report.dry_run || report.survey.selected() == 0) return print_dry_run(report, desk, colour, out);
    const Heading heading{colour};
    for (const ClearedQueue& queue : report.queues) {
        out << heading(safe_line(queue.name)) << '\n';
        print_table(rows_of(queue, report.drop), "  ", out);
        const std::string end = ending(queue, report);
        if (!end.empty()) out << "  " << safe_line(end) << '\n';
    }
    for (const SurveyedQueue& queue : report.survey.queues) {
        if (!queue.fault.empty()) out << safe_line(queue.fault) << '\n';
    }
    for (const std::string& note : report.survey.notes)
        out << "Not seen: " << safe_line(note) << ".\n";
    if (!report.drop) out << "Run " << report.id << ": it stands in the header retryd-replays of each of them.\n";
}

void print_clear_report_json(const ClearReport& report, std::ostream& out) {
    Json queues = Json::array();
    for (const ClearedQueue& queue : report.queues)
        queues.push_back(json_of(queue));
    const Json object{{"ok", report.ok()},
                      {"run", report.id.empty() ? Json() : Json(report.id)},
                      {"dry_run", report.dry_run},
                      {"selected", report.survey.selected()},
                      {"done", report.done()},
                      {"cleared", queues},
                      {"looked_at", json_of(report.survey)},
                      {"notes", report.notes},
                      {"not_seen", report.survey.notes}};
    print_json(object, out);
}

}  // namespace retryd::commands
