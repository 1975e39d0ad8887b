#include "commands/status/status_output.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>

#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/text.h"
#include "core/duration.h"

namespace retryd::commands {

namespace {

constexpr std::size_t quiet_rows = 20;  // more of them are folded

std::string text_of(const std::optional<std::int64_t>& messages) {
    return messages ? std::to_string(*messages) : "-";
}

std::string rate(double per_second) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f/s", per_second);
    return text;
}

/// All columns but the first hold numbers.
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

/// The work queues of one ladder.
struct LadderGroup {
    const SharedLadderStatus* shared = nullptr;
    std::vector<const WorkQueueStatus*> queues;
};

std::map<std::string, LadderGroup> groups_of(const Status& status) {
    std::map<std::string, LadderGroup> groups;
    for (const SharedLadderStatus& ladder : status.ladders)
        groups[ladder.name].shared = &ladder;
    for (const WorkQueueStatus& queue : status.queues)
        groups[queue.ladder].queues.push_back(&queue);
    return groups;
}

void add_rungs(std::vector<std::string>& row, const std::vector<RungDepth>& rungs) {
    for (const RungDepth& rung : rungs)
        row.push_back(text_of(rung.depth.messages));
    row.push_back(std::to_string(waiting(rungs)));
}

std::vector<std::string> head_of(const std::vector<RungDepth>& rungs, bool with_totals) {
    std::vector<std::string> row{"work queue"};
    for (const RungDepth& rung : rungs)
        row.push_back(core::format_duration(rung.delay));
    row.insert(row.end(), {"waiting", "parked"});
    if (with_totals) row.insert(row.end(), {"retried", "dropped"});
    return row;
}

std::vector<std::string> row_of(const WorkQueueStatus& queue, std::size_t delays, bool with_totals) {
    std::vector<std::string> row{queue.work_queue};
    if (queue.shared) {
        row.resize(1 + delays + 1);
    } else {
        add_rungs(row, queue.rungs);
    }
    row.push_back(queue.parked ? text_of(queue.parked->messages) : "elsewhere");
    if (with_totals) {
        const Totals totals = queue.totals.value_or(Totals{});
        row.insert(row.end(), {std::to_string(totals.retried), std::to_string(totals.dropped)});
    }
    return row;
}

void print_ladder(const std::string& name, const LadderGroup& group, bool with_totals, const Heading& heading,
                  std::ostream& out) {
    print_line(name + (group.shared != nullptr ? ", shared by its work queues" : ""), '\n' + heading("Ladder "), out);
    if (group.shared == nullptr && group.queues.empty()) return;
    const auto& rungs = group.shared != nullptr ? group.shared->rungs : group.queues.front()->rungs;
    Rows rows{head_of(rungs, with_totals)};
    if (group.shared != nullptr) {
        rows.push_back({"(all together)"});
        add_rungs(rows.back(), rungs);
    }
    const auto quiet = static_cast<std::size_t>(std::count_if(
        group.queues.begin(), group.queues.end(), [](const WorkQueueStatus* queue) { return weight(*queue) == 0; }));
    for (const WorkQueueStatus* queue : group.queues)
        if (quiet <= quiet_rows || weight(*queue) > 0) rows.push_back(row_of(*queue, rungs.size(), with_totals));
    print_numbers(std::move(rows), out);
    if (quiet > quiet_rows)
        out << "  " << counted(quiet, "more queue", "more queues") << ": nothing waits, nothing is parked\n";
}

void print_daemon(const DaemonView& daemon, std::ostream& out) {
    const Rates& rates = daemon.rates;
    print_line((daemon.ready ? "ready" : "not ready: " + daemon.reason) + ", " + std::to_string(daemon.in_flight) +
                   " in flight; over the last minute " + rate(rates.retried) + " retried, " + rate(rates.parked) +
                   " parked, " + rate(rates.dropped) + " dropped",
               "Daemon: ", out);
    for (const std::string& fault : daemon.faults)
        print_line(fault, "Fault: ", out);
}

std::string depth_line(const Depth& depth) {
    return depth.queue + ": " +
           (depth.messages ? counted(static_cast<std::size_t>(*depth.messages), "message", "messages") : "not there");
}

}  // namespace

void print_status(const Status& status, bool colour, std::ostream& out) {
    const Heading heading{colour};
    out << heading("RabbitMQ " + core::to_string(status.broker.version));
    print_line("at " + status.broker.host + ':' + std::to_string(status.broker.port) + ", vhost " + status.broker.vhost,
               " ", out);
    if (status.daemon) print_daemon(*status.daemon, out);
    print_line(depth_line(status.errors), "Error queue ", out);
    print_line(depth_line(status.catch_all), "Catch-all ", out);
    for (const auto& [name, group] : groups_of(status))
        print_ladder(name, group, status.daemon.has_value(), heading, out);
    if (status.daemon) out << "\nRetried, dropped: since the daemon started.\n";
    for (const std::string& what : status.not_seen)
        print_line(what, "\nNot seen: ", out);
    out.flush();
}

namespace {

// Keys stay in the order in which they are written: people read this too.
Json depth(const Depth& of) {
    return {{"queue", of.queue}, {"messages", of.messages ? Json(*of.messages) : Json()}};
}

Json rungs(const std::vector<RungDepth>& of) {
    Json list = Json::array();
    for (const RungDepth& rung : of) {
        Json object = depth(rung.depth);
        object["delay"] = core::format_duration(rung.delay);
        object["delay_ms"] = rung.delay.count();
        list.push_back(std::move(object));
    }
    return list;
}

Json totals(const std::optional<Totals>& of) {
    if (!of) return nullptr;
    return {{"retried", of->retried}, {"parked", of->parked}, {"dropped", of->dropped}};
}

Json queues(const Status& status) {
    Json list = Json::array();
    for (const WorkQueueStatus& queue : status.queues) {
        list.push_back({{"work_queue", queue.work_queue},
                        {"ladder", queue.ladder},
                        {"shared", queue.shared},
                        {"rungs", rungs(queue.rungs)},
                        {"parked", queue.parked ? depth(*queue.parked) : Json()},
                        {"totals", totals(queue.totals)}});
    }
    return list;
}

Json ladders(const Status& status) {
    Json list = Json::array();
    for (const SharedLadderStatus& ladder : status.ladders)
        list.push_back({{"name", ladder.name}, {"rungs", rungs(ladder.rungs)}});
    return list;
}

Json daemon(const std::optional<DaemonView>& view) {
    if (!view) return nullptr;
    return {{"ready", view->ready},
            {"reason", view->reason},
            {"in_flight", view->in_flight},
            {"per_second",
             {{"retried", view->rates.retried}, {"parked", view->rates.parked}, {"dropped", view->rates.dropped}}},
            {"faults", view->faults}};
}

}  // namespace

void print_status_json(const Status& status, bool one_line, std::ostream& out) {
    const BrokerIdentity& at = status.broker;
    const Json object{{"ok", true},
                      {"broker",
                       {{"host", at.host},
                        {"port", at.port},
                        {"tls", at.tls},
                        {"vhost", at.vhost},
                        {"version", core::to_string(at.version)}}},
                      {"errors", depth(status.errors)},
                      {"catch_all", depth(status.catch_all)},
                      {"queues", queues(status)},
                      {"ladders", ladders(status)},
                      {"daemon", daemon(status.daemon)},
                      {"not_seen", status.not_seen}};
    print_json(object, out, one_line);
    out.flush();  // a watch shows what there is
}

}  // namespace retryd::commands
