#include "commands/status/status.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <utility>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "core/duration.h"
#include "system/signals.h"
#include "telemetry/status_json.h"

namespace retryd::commands {

namespace {

constexpr const char* connection_name = "retryd status";
constexpr core::Milliseconds between_looks{2'000};

StatusReport look(Broker& broker, const config::Settings& settings) {
    return collect_status(broker, settings.policy, ask_daemon(settings));
}

void print(const StatusReport& status, bool one_line, const Report& output, std::ostream& out) {
    if (output.json()) return print_status_json(status, one_line, out);
    print_status(status, output.colour(), out);
}

/// The time of day, UTC: `2026-01-31 03:04:05Z`.
std::string time_of_day() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts)};
}

/// One look after the other, over one connection as long as that lasts.
class Watch {
  public:
    /// `in_place`: each look is drawn over the last one. Throws amqp::Error.
    Watch(const config::Settings& settings, const Report& output, bool in_place)
        : settings_(settings), output_(output), in_place_(in_place), broker_(connect(settings, connection_name)) {}

    /// What is to be shown. Never throws amqp::Error.
    std::string look_again(const system::Signals& signals) {
        std::ostringstream text;
        try {
            if (!broker_) reconnect(signals);
            const StatusReport status = look(*broker_, settings_);
            if (!output_.json()) text << time_of_day() << '\n';
            print(status, true, output_, text);
            last_ = text.str();
        } catch (const amqp::Error& error) {
            broker_.reset();
            print_loss(error, text);
            if (in_place_) text << "What was seen before:\n\n" << last_;
        }
        return text.str() + (output_.json() || in_place_ ? "" : "\n");
    }

  private:
    /// Connecting to a host that swallows packets takes its time, and there is nothing yet to close in order: a signal
    /// ends the process at once.
    void reconnect(const system::Signals& signals) {
        const system::Signals::Delivered at_once(signals, Screen::leave_and_exit);
        broker_ = connect(settings_, connection_name);
    }

    void print_loss(const amqp::Error& error, std::ostream& out) const {
        const std::string what = std::string{error.what()} + "; " + amqp::remedy(error.kind());
        if (output_.json()) return print_failure_json(what, true, out);
        out << time_of_day() << "\nretryd: " << what << ". It is tried again every 2 s.\n";
    }

    const config::Settings& settings_;
    const Report& output_;
    bool in_place_;
    std::unique_ptr<Broker> broker_;
    std::string last_;
};

int watch(const config::Settings& settings, const Report& output) {
    // What is not written to the real standard output is not read by somebody at a terminal.
    const bool in_place = &output.out() == &std::cout && isatty(STDOUT_FILENO) == 1 && !output.json();
    Watch watch(settings, output, in_place);
    Screen screen(in_place, output.out());
    const system::Signals signals{SIGINT, SIGTERM};
    do {
        screen.show(watch.look_again(signals));
    } while (output.out().good() && signals.wait(between_looks) == 0);
    return exit_code::fine;
}

}  // namespace

int status(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, connection_name);
        print(look(*broker, settings), false, output, out);
        return exit_code::fine;
    });
}

int watch_status(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) { return watch(settings, output); });
}

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

constexpr std::size_t quiet_rows = 20;  // more of them are told in one line

std::string text_of(const telemetry::Messages& messages) {
    return messages ? std::to_string(*messages) : "-";
}

std::string rate(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f/s", number);
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
        row.push_back(text_of(rung.messages));
    row.push_back(std::to_string(waiting_on(rungs)));
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
    std::vector<std::string> row{queue.work_queue};
    if (queue.shared) {
        row.resize(1 + delays + 1);
    } else {
        add_rungs(row, queue.rungs);
    }
    row.push_back(queue.parked ? text_of(queue.parked->messages) : "elsewhere");
    if (with_totals) {
        const telemetry::QueueTotals totals = queue.totals.value_or(telemetry::QueueTotals{});
        row.insert(row.end(), {std::to_string(totals.retried), std::to_string(totals.dropped)});
    }
    return row;
}

void print_ladder(const std::string& name, const LadderGroup& group, bool with_totals, const Bold& bold,
                  std::ostream& out) {
    print_line(name + (group.shared != nullptr ? ", shared by its work queues" : ""), '\n' + bold("Ladder "), out);
    if (group.shared == nullptr && group.queues.empty()) return;
    const auto& rungs = group.shared != nullptr ? group.shared->rungs : group.queues.front()->rungs;
    Rows rows{head_of(rungs, with_totals)};
    if (group.shared != nullptr) {
        rows.push_back({"(all together)"});
        add_rungs(rows.back(), rungs);
    }
    const auto quiet = static_cast<std::size_t>(
        std::count_if(group.queues.begin(), group.queues.end(),
                      [](const telemetry::QueueStatus* queue) { return waiting_or_parked(*queue) == 0; }));
    for (const telemetry::QueueStatus* queue : group.queues)
        if (quiet <= quiet_rows || waiting_or_parked(*queue) > 0)
            rows.push_back(row_of(*queue, rungs.size(), with_totals));
    print_numbers(std::move(rows), out);
    if (quiet > quiet_rows)
        out << "  " << counted(quiet, "more queue", "more queues") << ": nothing waits, nothing is parked\n";
}

void print_daemon(const telemetry::Status& daemon, std::ostream& out) {
    const telemetry::Rates& rates = daemon.rates;
    print_line((daemon.ready ? "ready" : "not ready: " + daemon.reason) + ", " + std::to_string(daemon.in_flight) +
                   " in flight; over the last minute " + rate(per_second(rates.retried, rates.interval)) +
                   " retried, " + rate(per_second(rates.parked, rates.interval)) + " parked, " +
                   rate(per_second(rates.dropped, rates.interval)) + " dropped",
               "Daemon: ", out);
    for (const telemetry::LastingFault& fault : daemon.faults)
        print_line(fault.text, "Fault: ", out);
}

std::string depth_line(const telemetry::QueueDepth& depth) {
    return depth.queue + ": " +
           (depth.messages ? counted(static_cast<std::size_t>(*depth.messages), "message", "messages") : "not there");
}

}  // namespace

void print_status(const StatusReport& status, bool colour, std::ostream& out) {
    const Bold bold{colour};
    print_broker_line(status.broker, colour, out);
    if (status.daemon) print_daemon(*status.daemon, out);
    print_line(depth_line(status.errors), "Error queue ", out);
    print_line(depth_line(status.catch_all), "Catch-all ", out);
    for (const auto& [name, group] : groups_of(status))
        print_ladder(name, group, status.daemon.has_value(), bold, out);
    if (status.daemon) out << "\nRetried, dropped: since the daemon started.\n";
    for (const std::string& what : status.not_seen)
        print_line(what, "\nNot seen: ", out);
    out.flush();
}

namespace {

Json json_of_daemon(const std::optional<telemetry::Status>& daemon) {
    if (!daemon) return nullptr;
    const telemetry::Rates& rates = daemon->rates;
    Json faults = Json::array();
    for (const telemetry::LastingFault& fault : daemon->faults)
        faults.push_back(fault.text);
    return {{"ready", daemon->ready},
            {"reason", daemon->reason},
            {"in_flight", daemon->in_flight},
            {"per_second",
             {{"retried", per_second(rates.retried, rates.interval)},
              {"parked", per_second(rates.parked, rates.interval)},
              {"dropped", per_second(rates.dropped, rates.interval)}}},
            {"faults", faults}};
}

}  // namespace

void print_status_json(const StatusReport& status, bool one_line, std::ostream& out) {
    const Json object{{"ok", true},
                      {"broker", json_of(status.broker)},
                      {"errors", telemetry::json_of(status.errors)},
                      {"catch_all", telemetry::json_of(status.catch_all)},
                      {"queues", telemetry::json_of(status.queues)},
                      {"ladders", telemetry::json_of(status.ladders)},
                      {"daemon", json_of_daemon(status.daemon)},
                      {"not_seen", status.not_seen}};
    print_json(object, out, one_line);
    out.flush();  // who watches sees what there is
}

}  // namespace retryd::commands
