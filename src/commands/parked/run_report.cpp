#include "commands/parked/run_report.h"

#include <ostream>

#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

using RunEnd = admin::ParkedRun::End;

std::string how_to_fix(const admin::ParkedRunCounts& counts) {
    if (counts.refused > counts.failed) return "The queue refuses them: is it full? Make room there first.";
    if (counts.unrouted > counts.failed) return "Their queue is gone: declare it again, or name another with --to.";
    return "Fix the consumer first: what it rejects goes through all retries again.";
}

/// Why the run ended early, and what to do; empty where it went to its end.
std::string why_ended(const ParkedQueueResult& queue, const ParkedRunReport& report) {
    const ParkedRunResult& run = queue.run;
    const std::string again = " What is left stays where it was, in its order; the same command goes on with it.";
    if (!run.fault.empty()) {
        return "The connection was lost: " + run.fault +
               ". Nothing is lost: what was not settled is still parked, and the last few may be there twice." + again;
    }
    switch (run.end) {
        case RunEnd::failures:
            return "Stopped: " + counted(run.counts.failures(), "message", "messages") +
                   " failed again, and --stop-after allows " + std::to_string(report.stop_above.value_or(0)) + ". " +
                   how_to_fix(run.counts) + again;
        case RunEnd::interrupted:
            return "Interrupted: all that was sent is confirmed and settled." + again;
        case RunEnd::held:
            return "Stopped: a consumer cannot hold more messages than this, none of them can go, and on RabbitMQ "
                   "before "
                   "3.10 no other one can go on. Select the ones in front first, or drop them." +
                   again;
        case RunEnd::broker:
            return "Stopped: " + run.why + ". What is still parked stays; the same command goes on with it.";
        case RunEnd::all:
        case RunEnd::none:
            break;
    }
    return "";
}

Rows rows_of(const ParkedQueueResult& queue, bool drop) {
    const admin::ParkedRunCounts& counts = queue.run.counts;
    Rows rows{{drop ? "dropped" : "replayed", std::to_string(counts.done) + " of " + std::to_string(queue.selected)}};
    const auto add = [&](const char* name, std::size_t number) {
        if (number > 0) rows.push_back({name, std::to_string(number)});
    };
    add("failed again since", counts.failed);
    add("came back parked", counts.came_back);
    add("refused by the queue", counts.refused);
    add("could not be routed", counts.unrouted);
    add("headers too large", counts.too_large);
    add("no work queue to go to", counts.without_destination);
    add("outcome unknown", counts.unknown);
    return rows;
}

void print_dry_run(const ParkedRunReport& report, core::WallTime now, bool colour, std::ostream& out) {
    print_overview(report.overview, now, colour, out);
    if (report.meant() == 0) {
        out << (report.left > 0 ? "\nNothing that is selected can be replayed, so nothing was changed.\n"
                                : "\nNothing is selected, so nothing was changed.\n");
        return;
    }
    out << "\nNothing was changed. Without --dry-run " << counted(report.meant(), "message", "messages") << " would be "
        << (report.drop ? "dropped" : "replayed") << ".\n";
}

/// Its key in the JSON.
std::string key_of_end(const ParkedRunResult& run) {
    if (!run.fault.empty()) return "connection lost";
    switch (run.end) {
        case RunEnd::failures:
            return "failures";
        case RunEnd::interrupted:
            return "interrupted";
        case RunEnd::held:
            return "held";
        case RunEnd::broker:
            return "broker";
        case RunEnd::all:
        case RunEnd::none:
            break;
    }
    return "all";
}

Json json_of_result(const ParkedQueueResult& queue) {
    const admin::ParkedRunCounts& counts = queue.run.counts;
    return {{"queue", queue.name},
            {"selected", queue.selected},
            {"done", counts.done},
            {"failed_again", counts.failed},
            {"came_back", counts.came_back},
            {"refused", counts.refused},
            {"unrouted", counts.unrouted},
            {"headers_too_large", counts.too_large},
            {"work_queue_unknown", counts.without_destination},
            {"outcome_unknown", counts.unknown},
            {"ended", key_of_end(queue.run)},
            {"why", text_or_null(queue.run.why)},
            {"fault", text_or_null(queue.run.fault)}};
}

}  // namespace

void print_run_report(const ParkedRunReport& report, core::WallTime now, bool colour, std::ostream& out) {
    for (const std::string& note : report.notes)
        out << "Note: " << core::safe_line(note) << ".\n";
    if (report.dry_run || report.meant() == 0) return print_dry_run(report, now, colour, out);
    const Bold bold{colour};
    for (const ParkedQueueResult& queue : report.queues) {
        out << bold(core::safe_name(queue.name)) << '\n';
        print_table(rows_of(queue, report.drop), "  ", out);
        const std::string end = why_ended(queue, report);
        if (!end.empty()) out << "  " << core::safe_line(end) << '\n';
    }
    for (const ParkingQueueOverview& queue : report.overview.queues) {
        if (!queue.fault.empty()) out << core::safe_line(queue.fault) << '\n';
    }
    for (const std::string& note : report.overview.notes)
        out << "Not seen: " << core::safe_line(note) << ".\n";
    if (!report.drop) out << "Run " << report.id << ": this id is in the header retryd-replays of each of them.\n";
}

Json json_of(const ParkedRunReport& report, bool with_texts) {
    Json queues = Json::array();
    for (const ParkedQueueResult& queue : report.queues) {
        queues.push_back(json_of_result(queue));
        if (with_texts) queues.back()["ended_text"] = text_or_null(why_ended(queue, report));
    }
    return {{"ok", report.ok()},         {"run", text_or_null(report.id)},
            {"dry_run", report.dry_run}, {"selected", report.meant()},
            {"done", report.done()},     {"undeliverable_left", report.left},
            {"queues", queues},          {"looked_at", json_of(report.overview)},
            {"notes", report.notes},     {"not_seen", report.overview.notes}};
}

}  // namespace retryd::commands
