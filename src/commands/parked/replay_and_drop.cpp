#include "commands/parked/replay_and_drop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <ostream>
#include <random>
#include <string_view>
#include <utility>

#include "amqp/queue_reader.h"
#include "commands/common/json.h"
#include "commands/common/progress.h"
#include "commands/common/report.h"
#include "commands/common/text.h"
#include "commands/parked/run.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using End = admin::ParkedRun::End;

std::string random_id() {
    constexpr std::string_view digits = "0123456789abcdef";
    std::random_device dice;
    std::string id;
    for (int i = 0; i < 16; ++i)
        id += digits[dice() & 0xfU];
    return id;
}

bool selects_on_purpose(const ParkedOptions& options, const ParkedRunOptions& clear) {
    return clear.all || clear.first || !selection_of(options, {}).everything();
}

std::vector<core::BindingSpec> error_exchanges(const core::Policy& policy) {
    std::vector<core::BindingSpec> exchanges{{"", policy.error_exchange, "", {}}};
    for (const core::ErrorBinding& binding : policy.error_bindings)
        exchanges.push_back({"", binding.exchange, binding.routing_key, {}});
    return exchanges;
}

/// One command's work.
class ParkedRunDriver {
  public:
    ParkedRunDriver(const Report& out, const config::Settings& settings, const ParkedOptions& options,
                    const ParkedRunOptions& clear, bool drop)
        : out_(out), settings_(settings), clear_(clear), desk_(settings, options, system::wall_now()) {
        report_.id = drop ? "" : random_id();
        report_.drop = drop;
        report_.dry_run = clear.dry_run;
        report_.stop_above = clear.stop_above;
    }

    int run() {
        look();
        if (!report_.survey.fault.empty()) return out_.fail(report_.survey.fault, exit_code::failed);
        if (report_.survey.interrupted) return out_.fail("interrupted: nothing was changed", exit_code::failed);
        if (report_.survey.selected() > 0) {
            if (const std::string fault = prepare(); !fault.empty()) {
                return out_.fail("nothing was changed: " + fault, exit_code::failed);
            }
            if (!clear_.dry_run && !agreed()) return out_.fail("nothing was dropped", exit_code::failed);
            if (!clear_.dry_run) go();
        }
        if (out_.json()) {
            print_run_report_json(report_, out_.out());
        } else {
            print_run_report(report_, desk_, out_.colour(), out_.out());
        }
        return report_.ok() ? exit_code::fine : exit_code::failed;
    }

  private:
    void look() {
        std::size_t seen = 0;
        report_.survey = desk_.survey([&](const std::string&, const core::Delivery&, const admin::Parked&) {
            return !clear_.first || ++seen < *clear_.first;
        });
    }

    /// Why nothing can be done; empty where all is ready.
    std::string prepare() {
        if (report_.drop) return "";
        const Destinations found = destinations(desk_.broker(), settings_, report_.survey, clear_.to);
        report_.notes = found.notes;
        through_return_ = found.through_return;
        missing_ = found.missing;
        if (!found.fault.empty() || clear_.dry_run || !clear_.stop_above) return found.fault;
        const std::string queue = "retryd.replay." + report_.id;
        watch_.emplace(endpoint_of(settings_, desk_.broker().identity()), settings_.broker, queue,
                       error_exchanges(settings_.policy));
        if (watch_->refusal().empty()) return "";
        return "whether replayed messages fail again cannot be watched: " + watch_->refusal() +
               ". The user needs configure, write and read on queues named retryd.replay.* and read on the error "
               "exchange; or go on blindly with --stop-after never";
    }

    bool agreed() const {
        if (!report_.drop || clear_.yes) return true;
        const std::size_t number = report_.survey.selected();
        if (isatty(STDIN_FILENO) != 1) {
            out_.err() << "retryd: " << counted(number, "message", "messages")
                       << " would be deleted for good; --yes does it without a question\n";
            return false;
        }
        print_overview(report_.survey, desk_, false, out_.err());
        out_.err() << "\nDelete " << (number == 1 ? "this message" : "these " + std::to_string(number) + " messages")
                   << " for good? [y/N] " << std::flush;
        std::array fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{desk_.signals().fd(), POLLIN, 0}};
        std::string answer;
        if (poll(fds.data(), fds.size(), -1) > 0 && fds[1].revents == 0) std::getline(std::cin, answer);
        return answer == "y" || answer == "yes";
    }

    void go() {
        for (const OverviewedQueue& queue : report_.survey.queues) {
            if (queue.selected.messages() == 0) continue;
            ParkedQueueResult& cleared =
                report_.queues.emplace_back(ParkedQueueResult{queue.name, queue.selected.messages(), {}});
            cleared.cleared = clear_queue(queue);
            if (cleared.cleared.end != End::all || !cleared.cleared.fault.empty()) return;
        }
    }

    /// What the first look held is given back a moment after it has left; else what has just come would be in front.
    void await_return(const OverviewedQueue& queue) {
        constexpr int tries = 50;
        constexpr core::Milliseconds pause{40};
        for (int i = 0; i < tries; ++i) {
            const auto there = desk_.broker().carry_out(amqp::Declarer::CheckQueue{queue.name});
            if (there.counts.messages >= queue.messages || desk_.signals().pending()) return;
            desk_.broker().wait(pause);
        }
    }

    ParkedRunResult clear_queue(const OverviewedQueue& queue) {
        await_return(queue);
        ProgressBar progress(out_.err(), standard_error_is_terminal(), queue.selected.messages(),
                             report_.drop ? "dropped" : "replayed");
        const auto show = [&](const admin::ParkedRunCounts& counts, const std::string& blocked) {
            const std::size_t failures = counts.failures();
            std::string note = failures > 0 ? std::to_string(failures) + " failed" : "";
            if (!blocked.empty()) note = "waiting: the broker takes no messages (" + safe_line(blocked) + ")";
            progress.show(counts.done, note);
        };
        const ParkedRunContext table{settings_, desk_.broker(), desk_.signals(), watch_ ? &*watch_ : nullptr, show};
        return clear(table, queue.name, queue.messages, order_for(queue));
    }

    /// Failures count over all queues.
    admin::ParkedRunOrder order_for(const OverviewedQueue& queue) {
        admin::ParkedRunOrder order;
        order.action = report_.drop ? admin::ParkedRunOrder::Action::drop : admin::ParkedRunOrder::Action::send;
        order.selection = desk_.selection();
        order.count = queue.looked_at;
        order.most_held = amqp::QueueReader::most_held;
        if (clear_.first) order.first = queue.selected.messages();
        order.error_queue = settings_.policy.error_queue;
        order.from = queue.name;
        order.to = clear_.to;
        order.id = report_.id;
        order.connection_user = endpoint_of(settings_, desk_.broker().identity()).username;
        order.through_return = through_return_;
        order.missing = missing_;
        order.per_second = clear_.per_second;
        order.stop_above = clear_.stop_above;
        if (order.stop_above) *order.stop_above -= std::min(*order.stop_above, report_.failed());
        return order;
    }

    const Report& out_;
    const config::Settings& settings_;
    const ParkedRunOptions& clear_;
    ParkedBrowser desk_;
    ParkedRunReport report_;
    std::set<std::string, std::less<>> through_return_;
    std::set<std::string, std::less<>> missing_;
    std::optional<amqp::DeadLetterTap> watch_;
};

int clear_parked(const ParkedOptions& options, const ParkedRunOptions& clear, bool drop, std::ostream& out,
                 std::ostream& err) {
    const Report report(options.report, out, err);
    if (!selects_on_purpose(options, clear)) {
        const std::string command = drop ? "drop" : "replay";
        return report.fail("parked " + command +
                               " says nothing of which messages: give --queue, --reason, --older-than, --newer-than, "
                               "--header or --first, or --all for every one",
                           exit_code::wrong_usage);
    }
    return report.run([&](const config::Settings& settings) {
        return ParkedRunDriver(report, settings, options, clear, drop).run();
    });
}

}  // namespace

int parked_replay(const ParkedOptions& options, const ParkedRunOptions& clear, std::ostream& out, std::ostream& err) {
    return clear_parked(options, clear, false, out, err);
}

int parked_drop(const ParkedOptions& options, const ParkedRunOptions& clear, std::ostream& out, std::ostream& err) {
    return clear_parked(options, clear, true, out, err);
}

namespace {

using End = admin::ParkedRun::End;
std::string what_to_mend(const admin::ParkedRunCounts& counts) {
    if (counts.refused > counts.failed) return "The queue refuses them: is it full? Make room there first.";
    if (counts.unrouted > counts.failed) return "Their queue is gone: declare it again, or name another with --to.";
    return "Mend the consumer first: what was sent and rejected climbs the ladder once more.";
}

/// What became of the run, and what to do; empty where it went to its end.
std::string ending(const ParkedQueueResult& queue, const ParkedRunReport& report) {
    const ParkedRunResult& cleared = queue.cleared;
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

std::string key_of(const ParkedRunResult& cleared) {
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

Rows rows_of(const ParkedQueueResult& queue, bool drop) {
    const admin::ParkedRunCounts& counts = queue.cleared.counts;
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

Json json_of(const ParkedQueueResult& queue) {
    const admin::ParkedRunCounts& counts = queue.cleared.counts;
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

void print_dry_run(const ParkedRunReport& report, const ParkedBrowser& browser, bool colour, std::ostream& out) {
    print_overview(report.survey, browser, colour, out);
    if (report.survey.selected() == 0) {
        out << "\nNothing is selected, so nothing was changed.\n";
        return;
    }
    out << "\nNothing was changed. Without --dry-run " << counted(report.survey.selected(), "message", "messages")
        << " would be " << (report.drop ? "dropped" : "replayed") << ".\n";
}

}  // namespace

std::size_t ParkedRunReport::done() const {
    std::size_t sum = 0;
    for (const ParkedQueueResult& queue : queues)
        sum += queue.cleared.counts.done;
    return sum;
}

std::size_t ParkedRunReport::failed() const {
    std::size_t sum = 0;
    for (const ParkedQueueResult& queue : queues)
        sum += queue.cleared.counts.failures();
    return sum;
}

bool ParkedRunReport::ok() const {
    if (!survey.complete()) return false;
    if (stop_above && failed() > *stop_above) return false;
    return dry_run || done() == survey.selected();
}

void print_run_report(const ParkedRunReport& report, const ParkedBrowser& browser, bool colour, std::ostream& out) {
    for (const std::string& note : report.notes)
        out << "Note: " << safe_line(note) << ".\n";
    if (report.dry_run || report.survey.selected() == 0) return print_dry_run(report, browser, colour, out);
    const Heading heading{colour};
    for (const ParkedQueueResult& queue : report.queues) {
        out << heading(safe_line(queue.name)) << '\n';
        print_table(rows_of(queue, report.drop), "  ", out);
        const std::string end = ending(queue, report);
        if (!end.empty()) out << "  " << safe_line(end) << '\n';
    }
    for (const OverviewedQueue& queue : report.survey.queues) {
        if (!queue.fault.empty()) out << safe_line(queue.fault) << '\n';
    }
    for (const std::string& note : report.survey.notes)
        out << "Not seen: " << safe_line(note) << ".\n";
    if (!report.drop) out << "Run " << report.id << ": it stands in the header retryd-replays of each of them.\n";
}

void print_run_report_json(const ParkedRunReport& report, std::ostream& out) {
    Json queues = Json::array();
    for (const ParkedQueueResult& queue : report.queues)
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
