#include "commands/status/print_status.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <ostream>
#include <utility>

#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "core/duration.h"
#include "core/safe_text.h"
#include "telemetry/status_json.h"

namespace retryd::commands {

double per_second(const std::vector<std::uint64_t>& series, core::Milliseconds interval) {
    constexpr core::Milliseconds minute{60'000};
    if (series.empty() || interval <= core::Milliseconds::zero()) return 0;
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(1, minute / interval));
    const std::size_t intervals = std::min(wanted, series.size());
    std::uint64_t messages = 0;
    for (std::size_t i = series.size() - intervals; i < series.size(); ++i)
        messages += series[i];
    return static_cast<double>(messages) * 1000 /
           static_cast<double>(intervals * static_cast<std::size_t>(interval.count()));
}

namespace {

constexpr std::size_t quiet_rows = 20;  // if there are more, they are summed up in one line

constexpr const char* not_known = "not known";

std::string text_of(const telemetry::Messages& messages, bool unknown) {
    return messages ? std::to_string(*messages) : unknown ? not_known : "-";
}

std::string rate(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f/s", number);
    return text;
}

/// All columns except the first are numbers.
void print_numbers(Rows rows, std::ostream& out) {
    std::vector<std::size_t> widest;
    for (const auto& row : rows) {
        widest.resize(std::max(widest.size(), row.size()));
        for (std::size_t i = 1; i < row.size(); ++i)
            widest[i] = std::max(widest[i], row[i].size());
    }
    for (auto& row : rows) {
        for (std::size_t i = 1; i < row.size(); ++i)
            row[i].insert(0, widest[i] - row[i].size(), ' ');
    }
    print_table(rows, "  ", out);
}

/// The work queues with the same ladder.
struct LadderGroup {
    const telemetry::LadderStatus* shared = nullptr;
    std::vector<const telemetry::QueueStatus*> queues;
};

std::map<std::string, LadderGroup> groups_of(const StatusReport& status) {
    std::map<std::string, LadderGroup> groups;
    for (const telemetry::LadderStatus& ladder : status.ladders)
        groups[ladder.name].shared = &ladder;
    for (const telemetry::QueueStatus& queue : status.queues)
        groups[queue.ladder].queues.push_back(&queue);
    return groups;
}

void add_rungs(std::vector<std::string>& row, const std::vector<telemetry::RungStatus>& rungs) {
    for (const telemetry::RungStatus& rung : rungs)
        row.push_back(text_of(rung.messages, rung.unknown));
    row.push_back(any_unknown(rungs) ? not_known : std::to_string(waiting_on(rungs)));
}

std::vector<std::string> head_of(const std::vector<telemetry::RungStatus>& rungs, bool with_totals) {
    std::vector<std::string> row{"work queue"};
    for (const telemetry::RungStatus& rung : rungs)
        row.push_back(core::format_duration(rung.delay));
    row.insert(row.end(), {"waiting", "parked"});
    if (with_totals) row.insert(row.end(), {"retried", "dropped"});
    return row;
}

std::vector<std::string> row_of(const telemetry::QueueStatus& queue, std::size_t delays, bool with_totals) {
    std::vector<std::string> row{core::safe_name(queue.work_queue)};
    if (queue.shared) {
        row.resize(1 + delays + 1);
    } else {
        add_rungs(row, queue.rungs);
    }
    row.push_back(queue.parked ? text_of(queue.parked->messages, queue.parked->unknown) : "elsewhere");
    if (with_totals) {
        const telemetry::QueueTotals totals = queue.totals.value_or(telemetry::QueueTotals{});
        row.insert(row.end(), {std::to_string(totals.retried), std::to_string(totals.dropped)});
    }
    return row;
}

void print_ladder(const std::string& name, const LadderGroup& group, bool with_totals, const Bold& bold,
                  std::ostream& out) {
    print_line(core::safe_name(name) + (group.shared != nullptr ? ", shared by its work queues" : ""),
               '\n' + bold("Ladder "), out);
    if (group.shared == nullptr && group.queues.empty()) return;
    const auto& rungs = group.shared != nullptr ? group.shared->rungs : group.queues.front()->rungs;
    Rows rows{head_of(rungs, with_totals)};
    if (group.shared != nullptr) {
        rows.push_back({"(all together)"});
        add_rungs(rows.back(), rungs);
    }
    const auto quiet =
        static_cast<std::size_t>(std::count_if(group.queues.begin(), group.queues.end(),
                                               [](const telemetry::QueueStatus* queue) { return is_quiet(*queue); }));
    for (const telemetry::QueueStatus* queue : group.queues)
        if (quiet <= quiet_rows || !is_quiet(*queue)) rows.push_back(row_of(*queue, rungs.size(), with_totals));
    print_numbers(std::move(rows), out);
    if (quiet > quiet_rows)
        out << "  " << counted(quiet, "more queue", "more queues") << ": nothing waits, nothing is parked\n";
}

std::string since(core::WallTime time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    return ", since " + utc(static_cast<std::uint64_t>(std::max<std::int64_t>(0, seconds)));
}

void print_findings(const telemetry::ChecksStatus& checks, const Colours& colours, std::ostream& out) {
    for (const telemetry::FindingStatus& finding : checks.findings) {
        const std::string more =
            finding.names.size() > 1 ? " (and " + std::to_string(finding.names.size() - 1) + " more)" : "";
        print_line(finding.cause + more + since(finding.since),
                   finding.severity == "problem" ? colours.problem("Problem: ") : colours.warning("Warning: "), out);
    }
    if (!checks.findings.empty()) out << "retryd doctor tells what follows, and what fixes it.\n";
}

void print_daemon(const telemetry::Status& daemon, const Colours& colours, std::ostream& out) {
    const telemetry::Rates& rates = daemon.rates;
    print_line((daemon.ready ? "ready" : "not ready: " + daemon.reason) + ", " + std::to_string(daemon.in_flight) +
                   " in flight; over the last minute " + rate(per_second(rates.retried, rates.interval)) +
                   " retried, " + rate(per_second(rates.parked, rates.interval)) + " parked, " +
                   rate(per_second(rates.dropped, rates.interval)) + " dropped",
               "Daemon: ", out);
    if (daemon.oldest_unsettled > telemetry::longest_unsettled)
        print_line(core::format_duration(std::chrono::floor<std::chrono::seconds>(daemon.oldest_unsettled)),
                   "Oldest message that is not settled: ", out);
    for (const telemetry::LastingFault& fault : daemon.faults)
        print_line(fault.text, colours.problem("Fault: "), out);
    if (daemon.checks) print_findings(*daemon.checks, colours, out);
}

void print_held(const std::vector<HeldMessages>& held, std::ostream& out) {
    for (const HeldMessages& each : held) {
        print_line(std::to_string(each.messages) + " on " + core::safe_name(each.rung) + ": " +
                       (each.gone ? "work queue " + core::safe_name(each.serves) + " is gone; next try within 180 s"
                                  : "not taken yet; retryd doctor tells more if that lasts"),
                   "\nHeld by the broker: ", out);
    }
}

/// The daemon's description, or only the number if there is no daemon.
void print_outages(const std::vector<telemetry::HeldStatus>& outages, const Colours& colours, std::ostream& out) {
    for (const telemetry::HeldStatus& outage : outages) {
        const auto messages = static_cast<std::size_t>(outage.messages.value_or(0));
        if (outage.text.empty() && messages == 0 && !outage.unknown) continue;
        const std::string number = outage.unknown ? not_known : counted(messages, "message", "messages");
        const std::string text = outage.text.empty() ? number : outage.text;
        const bool holding = outage.outage == 1 && !outage.by_hand;
        print_line(core::safe_name(outage.work_queue) + ", in " + core::safe_name(outage.queue) + ": " + text,
                   holding ? colours.problem("Outage of ") : std::string{"Held of "}, out);
    }
}

std::string depth_line(const telemetry::QueueDepth& depth) {
    const std::string queue = core::safe_name(depth.queue) + ": ";
    if (depth.messages) return queue + counted(static_cast<std::size_t>(*depth.messages), "message", "messages");
    return queue + (depth.unknown ? not_known : "not there");
}

std::string why_not_known(const StatusReport& status) {
    if (!status.errors_unconsumed) return "";
    return ". The broker names no consumer of it, although the daemon runs: either that does not consume at "
           "the moment, or the queue has no leader (rabbitmq-queues quorum_status)";
}

}  // namespace

void print_status(const StatusReport& status, bool colour, std::ostream& out) {
    const Bold bold{colour};
    if (!status.no_daemon.empty()) print_line(status.no_daemon, Colours{colour}.problem("Not answering: "), out);
    print_broker_line(status.broker, colour, out);
    if (status.daemon) print_daemon(*status.daemon, Colours{colour}, out);
    print_line(depth_line(status.errors) + why_not_known(status), "Error queue ", out);
    print_line(depth_line(status.catch_all), "Catch-all ", out);
    for (const telemetry::RungStatus& detour : status.detours)
        if (detour.messages.value_or(0) > 0 || detour.unknown)
            print_line(depth_line({detour.queue, detour.messages, detour.unknown}), "Detour ", out);
    print_outages(status.outages, Colours{colour}, out);
    for (const auto& [name, group] : groups_of(status))
        print_ladder(name, group, status.daemon.has_value(), bold, out);
    print_held(status.held, out);
    if (status.daemon) out << "\nRetried, dropped: since the daemon started.\n";
    for (const std::string& what : status.not_seen)
        print_line(what, "\nNot seen: ", out);
    out.flush();
}

// ── As JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

Json json_of(const std::vector<HeldMessages>& held) {
    Json list = Json::array();
    for (const HeldMessages& each : held)
        list.push_back(
            {{"queue", each.rung}, {"serves", each.serves}, {"messages", each.messages}, {"gone", each.gone}});
    return list;
}

Json json_of_daemon(const std::optional<telemetry::Status>& daemon) {
    if (!daemon) return nullptr;
    const telemetry::Rates& rates = daemon->rates;
    Json faults = Json::array();
    for (const telemetry::LastingFault& fault : daemon->faults)
        faults.push_back(fault.text);
    return {{"ready", daemon->ready},
            {"reason", daemon->reason},
            {"in_flight", daemon->in_flight},
            {"oldest_unsettled_ms", daemon->oldest_unsettled.count()},
            {"per_second",
             {{"retried", per_second(rates.retried, rates.interval)},
              {"parked", per_second(rates.parked, rates.interval)},
              {"dropped", per_second(rates.dropped, rates.interval)}}},
            {"faults", faults},
            {"checks", telemetry::json_of(daemon->checks)}};
}

}  // namespace

void print_status_json(const StatusReport& status, bool one_line, std::ostream& out) {
    const Json object{{"ok", true},
                      {"broker", json_of(status.broker)},
                      {"errors", telemetry::json_of(status.errors)},
                      {"catch_all", telemetry::json_of(status.catch_all)},
                      {"detours", telemetry::json_of(status.detours)},
                      {"queues", telemetry::json_of(status.queues)},
                      {"ladders", telemetry::json_of(status.ladders)},
                      {"held", json_of(status.held)},
                      {"outages", telemetry::json_of(status.outages)},
                      {"daemon", json_of_daemon(status.daemon)},
                      {"no_daemon", text_or_null(status.no_daemon)},
                      {"not_seen", status.not_seen}};
    print_json(object, out, one_line);
    out.flush();  // so that somebody who pipes the output sees it at once
}

}  // namespace retryd::commands
