#include "commands/waiting/waiting.h"

#include <ostream>

#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "core/duration.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

Rows rows_of(const WaitingResult& result, bool park) {
    const admin::ParkedRunCounts& counts = result.run.counts;
    Rows rows{{park ? "parked" : "sent home", std::to_string(counts.done) + " of " + std::to_string(result.waiting)}};
    const auto add = [&](const char* name, std::size_t number) {
        if (number > 0) rows.push_back({name, std::to_string(number)});
    };
    add("not selected", counts.not_selected);
    add("no place to go to", counts.without_destination);
    add("refused", counts.refused);
    add("could not be routed", counts.unrouted);
    add("headers too large", counts.too_large);
    add("outcome unknown", counts.unknown);
    return rows;
}

void print_waiting(const WaitingReport& report, bool colour, std::ostream& out) {
    const Bold bold{colour};
    for (const WaitingResult& result : report.results) {
        out << bold(core::safe_name(result.rung)) << '\n';
        if (report.dry_run) {
            out << "  " << result.selected << " of " << counted(result.waiting, "message", "messages") << " would be "
                << (report.park ? "parked" : "sent home") << '\n';
            continue;
        }
        print_table(rows_of(result, report.park), "  ", out);
        const std::string end = why_it_ended(result);
        if (!end.empty()) out << "  " << core::safe_line(end) << '\n';
    }
    if (report.results.empty())
        out << "Nothing waits" << (report.not_seen.empty() ? "" : " where it could be seen") << ".\n";
    for (const std::string& note : report.notes)
        out << "Note: " << core::safe_line(note) << ".\n";
    for (const std::string& note : report.not_seen)
        out << "Not seen: " << core::safe_line(note) << ".\n";
}

int send_or_park_selected(const WaitingOptions& options, bool park, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    if (!says_which(options)) {
        return output.fail(std::string{"waiting "} + (park ? "park" : "send") +
                               " needs to know which messages: give --from, --queue, --reason, --older-than, "
                               "--newer-than, --header or --first, or --all for every one",
                           exit_code::wrong_usage);
    }
    return output.run([&](const config::Settings& settings) {
        Foreground foreground(output.err());
        const WaitingReport report = send_or_park(settings, options, park, foreground.stop(), foreground);
        if (!report.fault.empty()) return output.fail(report.fault, exit_code::failed);
        output.json() ? print_json(json_of(report), out) : print_waiting(report, output.colour(), out);
        return report.ok() ? exit_code::fine : exit_code::failed;
    });
}

void print_rungs(const WaitingRungs& found, std::ostream& out) {
    Rows rows{{"work queue", "rung", "messages", "next due"}};
    for (const WaitingRung& rung : found.rungs) {
        if (rung.messages == 0) continue;
        const bool shared = rung.rung.return_path == core::ReturnPath::headers;
        rows.push_back(
            {shared ? "(ladder " + core::safe_name(rung.rung.serves) + ")" : core::safe_name(rung.rung.serves),
             core::safe_name(rung.queue), std::to_string(rung.messages),
             "within " + core::format_duration(rung.rung.delay)});
    }
    if (rows.size() > 1) {
        print_table(rows, "", out);
    } else {
        out << "Nothing waits" << (found.notes.empty() ? "" : " where it could be seen") << ".\n";
    }
    for (const std::string& note : found.notes)
        out << "Not seen: " << core::safe_line(note) << ".\n";
}

}  // namespace

int waiting_list(const WaitingOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    return output.run([&](const config::Settings& settings) {
        const Foreground foreground(output.err());
        const WaitingList list = list_waiting(settings, options);
        if (!list.fault.empty()) return output.fail(list.fault, exit_code::failed);
        output.json() ? print_json(json_of(list.found), out) : print_rungs(list.found, out);
        return exit_code::fine;
    });
}

int waiting_send(const WaitingOptions& options, std::ostream& out, std::ostream& err) {
    return send_or_park_selected(options, false, out, err);
}

int waiting_park(const WaitingOptions& options, std::ostream& out, std::ostream& err) {
    return send_or_park_selected(options, true, out, err);
}

}  // namespace retryd::commands
