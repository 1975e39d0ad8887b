#include "commands/status.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "admin/finding.h"
#include "admin/work_queues.h"
#include "amqp/error.h"
#include "amqp/refusal.h"
#include "commands/common/json.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "core/duration.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"
#include "system/signals.h"
#include "telemetry/status_json.h"

namespace retryd::commands {

// ── What the broker counts ──────────────────────────────────────────────────────────────────────────────────────

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs) {
    std::uint64_t sum = 0;
    for (const telemetry::RungStatus& rung : rungs)
        sum += rung.messages.value_or(0);
    return sum;
}

std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue) {
    return waiting_on(queue.rungs) + (queue.parked ? queue.parked->messages.value_or(0) : 0);
}

namespace {

bool any_unknown(const std::vector<telemetry::RungStatus>& rungs) {
    return std::any_of(rungs.begin(), rungs.end(), [](const telemetry::RungStatus& rung) { return rung.unknown; });
}

}  // namespace

bool is_quiet(const telemetry::QueueStatus& queue) {
    const bool known = !any_unknown(queue.rungs) && !(queue.parked && queue.parked->unknown);
    return known && waiting_or_parked(queue) == 0;
}

namespace {

constexpr std::size_t most_named = 10;

class StatusCollector {
  public:
    StatusCollector(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon, bool expected)
        : broker_(broker), policy_(policy), features_(core::features_of(broker.identity().version)) {
        report_.broker = broker.identity();
        if (const auto* status = std::get_if<telemetry::Status>(&daemon)) report_.daemon = *status;
        const auto* why_not = std::get_if<std::string>(&daemon);
        if (why_not == nullptr) return;
        if (expected) {
            report_.no_daemon = *why_not;
        } else {
            add_not_seen("in flight, rates, totals and faults: " + *why_not);
        }
    }

    StatusReport collect() {
        list_queues();
        count_errors();
        report_.catch_all = depth_of(policy_.catch_all);
        for (const core::Milliseconds delay : core::detour_delays)
            report_.detours.push_back(rung_of(core::detour_name(delay), delay));
        for (const std::string& name : find_work_queues())
            add_work_queue(name, *core::match(policy_, name));
        add_shared_ladders();
        add_outages();
        std::stable_sort(report_.queues.begin(), report_.queues.end(), [](const auto& left, const auto& right) {
            return waiting_or_parked(left) > waiting_or_parked(right);
        });
        if (!report_.leaderless.empty()) {
            add_not_seen("how many messages some queues have, for they have no leader now: " +
                         admin::folded(report_.leaderless, most_named) +
                         ". Start the nodes that are away (rabbitmq-queues quorum_status NAME)");
        }
        if (!refusal_.empty())
            add_not_seen("how many messages some queues have; the broker's first refusal: " + refusal_);
        return std::move(report_);
    }

  private:
    void list_queues() {
        if (broker_.management() == nullptr) {
            no_list_ = "Set management.url";
            return;
        }
        try {
            const auto queues = broker_.management()->queues();
            for (const http::ListedQueue& queue : queues) {
                listed_.push_back(queue.name);
                if (queue.leaderless) listed_leaderless_.insert(queue.name);
            }
            const std::set<std::string> names(listed_.begin(), listed_.end());
            for (const http::ListedQueue& queue : queues) {
                const auto rung = core::parse_rung(queue.name, queue.arguments);
                if (!rung || queue.held.value_or(0) == 0) continue;
                const bool shared = rung->return_path == core::ReturnPath::headers;
                report_.held.push_back({queue.name, rung->serves, static_cast<std::uint64_t>(*queue.held),
                                        !shared && names.count(rung->serves) == 0});
            }
        } catch (const http::Error& error) {
            no_list_ = error.what();
        }
    }

    std::set<std::string> find_work_queues() {
        const auto configured = admin::configured_work_queues(policy_);
        std::set<std::string> names(configured.begin(), configured.end());
        if (report_.daemon) {
            for (const telemetry::QueueStatus& queue : report_.daemon->queues)
                if (core::match(policy_, queue.work_queue) != nullptr) names.insert(queue.work_queue);
        }
        const bool any_glob = std::any_of(policy_.entries.begin(), policy_.entries.end(),
                                          [](const core::Entry& entry) { return core::is_glob(entry.match); });
        if (any_glob) add_work_queues_of_globs(names);
        return names;
    }

    void add_work_queues_of_globs(std::set<std::string>& names) {
        if (no_list_.empty()) {
            const auto found = admin::work_queues_in_use(policy_, features_, listed_);
            names.insert(found.begin(), found.end());
        } else if (report_.daemon) {
            add_not_seen("work queues of globs that the daemon does not name: " + no_list_);
        } else {
            add_not_seen("the work queues of globs: AMQP lists no queues. " + no_list_ +
                         ", or have the daemon answer at http.listen: it names those that it knows");
        }
    }

    void add_work_queue(const std::string& name, const core::Entry& entry) {
        telemetry::QueueStatus queue;
        queue.work_queue = name;
        queue.ladder = entry.ladder.name;
        queue.shared = entry.ladder.return_path == core::ReturnPath::headers;
        if (!queue.shared) queue.rungs = count_rungs(entry.ladder, name);
        if (entry.parked.exchange.empty()) {
            const std::string parking = core::parking_queue_of(entry.parked, name, features_);
            queue.parked = depth_of(parking);
        }
        queue.totals = totals_of(name);
        report_.queues.push_back(std::move(queue));
    }

    /// A daemon that runs consumes this one.
    void count_errors() {
        const Counted found = count(policy_.error_queue);
        report_.errors = {policy_.error_queue, found.messages, found.unknown};
        if (found.messages != 0U || found.consumers > 0) return;
        if (report_.daemon) {
            report_.errors_unconsumed = true;
            report_.errors = {policy_.error_queue, std::nullopt, true};
        } else if (!no_list_.empty()) {
            add_not_seen("whether there are no messages in " + core::safe_name(policy_.error_queue) +
                         ": RabbitMQ names no consumer of it, and says the same of a queue that has no leader. " +
                         no_list_);
        }
    }

    /// The states that the daemon reports, and those of all other work queues that may hold. The numbers are the
    /// broker's in any case.
    void add_outages() {
        if (report_.daemon) report_.outages = report_.daemon->outages;
        for (const telemetry::QueueStatus& queue : report_.queues) {
            const core::Entry* const entry = core::match(policy_, queue.work_queue);
            const bool known =
                std::any_of(report_.outages.begin(), report_.outages.end(),
                            [&](const telemetry::HeldStatus& each) { return each.work_queue == queue.work_queue; });
            if (known || entry == nullptr || !core::may_hold(*entry)) continue;
            telemetry::HeldStatus outage;
            outage.work_queue = queue.work_queue;
            outage.queue = core::held_name(queue.work_queue, features_.longest_quorum_name);
            outage.by_hand = entry->hold;
            report_.outages.push_back(std::move(outage));
        }
        for (telemetry::HeldStatus& outage : report_.outages) {
            const Counted found = count(outage.queue);
            outage.messages = found.messages;
            outage.unknown = found.unknown;
        }
    }

    /// The totals that the daemon reports; nothing if it does not name the queue.
    std::optional<telemetry::QueueTotals> totals_of(const std::string& work_queue) const {
        if (!report_.daemon) return std::nullopt;
        for (const telemetry::QueueStatus& queue : report_.daemon->queues)
            if (queue.work_queue == work_queue) return queue.totals;
        return std::nullopt;
    }

    void add_shared_ladders() {
        std::set<std::string> added;
        for (const core::Entry& entry : policy_.entries) {
            if (entry.ladder.return_path != core::ReturnPath::headers) continue;
            // Entries with `x_death: keep` have rungs of their own.
            if (added.insert(entry.ladder.name + '/' + std::string{core::to_string(entry.ladder.x_death)}).second)
                report_.ladders.push_back({entry.ladder.name, count_rungs(entry.ladder, "")});
        }
    }

    std::vector<telemetry::RungStatus> count_rungs(const core::Ladder& ladder, const std::string& work_queue) {
        std::vector<telemetry::RungStatus> rungs;
        for (const core::Milliseconds delay : core::distinct_delays(ladder)) {
            telemetry::RungStatus rung = rung_of(core::rung_name_of(ladder, work_queue, delay, false), delay);
            if (features_.priority_blocks_expiry && rung.messages)
                add_high(core::rung_name_of(ladder, work_queue, delay, true), rung);
            rungs.push_back(std::move(rung));
        }
        return rungs;
    }

    void add_high(const std::string& queue, telemetry::RungStatus& rung) {
        const Counted found = count(queue);
        *rung.messages += found.messages.value_or(0);
        rung.unknown = found.unknown;
        if (rung.unknown) rung.messages.reset();
    }

    struct Counted {
        telemetry::Messages messages;  // nothing if the queue does not exist, or `unknown`
        bool unknown = false;
        std::uint32_t consumers = 0;
    };
    /// Of a quorum queue without a leader the broker says that it has neither messages nor consumers, and of a classic
    /// one without its node that it is not there.
    Counted count(const std::string& queue) {
        const auto answer = broker_.carry_out(amqp::Declarer::CheckQueue{queue});
        const bool refused = answer.result == amqp::Declarer::Result::refused;
        if (refused && refusal_.empty()) refusal_ = answer.text;
        if (refused) return {std::nullopt, true};
        const bool nothing = answer.result != amqp::Declarer::Result::done || answer.counts == amqp::QueueCounts{};
        if (nothing && listed_leaderless_.contains(queue)) {
            report_.leaderless.push_back(queue);
            return {std::nullopt, true};
        }
        if (answer.result != amqp::Declarer::Result::done) return {};
        return {answer.counts.messages, false, answer.counts.consumers};
    }
    telemetry::QueueDepth depth_of(const std::string& queue) {
        const Counted found = count(queue);
        return {queue, found.messages, found.unknown};
    }
    telemetry::RungStatus rung_of(const std::string& queue, core::Milliseconds delay) {
        const Counted found = count(queue);
        return {queue, delay, found.messages, std::nullopt, found.unknown};
    }

    void add_not_seen(std::string what) { report_.not_seen.push_back(std::move(what)); }

    Broker& broker_;
    const core::Policy& policy_;
    const core::BrokerFeatures features_;
    std::string refusal_;  // the first one
    std::vector<std::string> listed_;
    std::set<std::string> listed_leaderless_;
    std::string no_list_;  // why the queues could not be listed
    StatusReport report_;
};

}  // namespace

StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon, bool expected) {
    return StatusCollector(broker, policy, daemon, expected).collect();
}

// ── One look, or one after the other ──────────────────────────────────────────────────────────────────────────

namespace {

constexpr const char* connection_name = "retryd status";
StatusReport look(Broker& broker, const config::Settings& settings, const StatusView& view) {
    StatusReport status = collect_status(broker, settings.policy, ask_daemon(settings), settings.http.has_value());
    arrange(status, view);
    return status;
}

void print(const StatusReport& status, bool one_line, const Report& output, std::ostream& out) {
    if (output.json()) return print_status_json(status, one_line, out);
    print_status(status, output.colour(), out);
}

/// UTC, to the second: `2026-01-31 03:04:05Z`.
std::string utc_now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts)};
}

/// Collects the status again and again, over one connection for as long as it lasts.
class Watch {
  public:
    /// `in_place`: each status is drawn over the last one. Throws amqp::Error.
    Watch(const config::Settings& settings, const StatusView& view, const Report& output, bool in_place)
        : settings_(settings),
          view_(view),
          output_(output),
          in_place_(in_place),
          broker_(connect(settings, connection_name)) {}

    /// Returns the text to show. Never throws amqp::Error.
    std::string look_again(const system::Signals& signals) {
        std::ostringstream text;
        try {
            if (!broker_) reconnect(signals);
            const StatusReport status = look(*broker_, settings_, view_);
            if (!output_.json()) text << utc_now() << '\n';
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
    /// Connecting to a host that drops packets takes long, and there is nothing to end cleanly yet, so a signal ends
    /// the process at once.
    void reconnect(const system::Signals& signals) {
        const system::Signals::Delivered at_once(signals, Screen::leave_and_exit);
        broker_ = connect(settings_, connection_name);
    }

    void print_loss(const amqp::Error& error, std::ostream& out) const {
        const std::string what = std::string{error.what()} + "; " + amqp::remedy(error.kind());
        if (output_.json()) return print_failure_json(what, true, out);
        out << utc_now() << "\nretryd: " << core::safe_line(what) << ". It is tried again every "
            << core::format_duration(view_.interval) << ".\n";
    }

    const config::Settings& settings_;
    const StatusView& view_;
    const Report& output_;
    bool in_place_;
    std::unique_ptr<Broker> broker_;
    std::string last_;
};

int watch(const config::Settings& settings, const StatusView& view, const Report& output) {
    // Redraws in place only if the output is the real standard output and that is a terminal.
    const bool in_place = &output.out() == &std::cout && isatty(STDOUT_FILENO) == 1 && !output.json();
    Watch watch(settings, view, output, in_place);
    Screen screen(in_place, output.out());
    const system::Signals signals =
        in_place ? system::Signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP} : system::Signals{SIGINT, SIGTERM};
    do {
        screen.show(watch.look_again(signals));
    } while (output.out().good() && screen.stay(signals, view.interval));
    return exit_code::fine;
}

}  // namespace

int status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, connection_name);
        print(look(*broker, settings, view), false, output, out);
        return exit_code::fine;
    });
}

int watch_status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) { return watch(settings, view, output); });
}

void arrange(StatusReport& status, const StatusView& view) {
    using Queue = telemetry::QueueStatus;
    std::erase_if(status.queues, [&](const Queue& queue) { return !core::glob_matches(view.match, queue.work_queue); });
    const auto number = [&](const Queue& queue) {
        if (view.order == StatusView::Order::waiting) return waiting_on(queue.rungs);
        if (view.order == StatusView::Order::parked) return queue.parked ? queue.parked->messages.value_or(0) : 0;
        return waiting_or_parked(queue);
    };
    const bool by_name = view.order == StatusView::Order::name;
    std::stable_sort(status.queues.begin(), status.queues.end(), [&](const Queue& left, const Queue& right) {
        return by_name ? left.work_queue < right.work_queue : number(left) > number(right);
    });
}

// ── As text ─────────────────────────────────────────────────────────────────────────────────────────────────────

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
