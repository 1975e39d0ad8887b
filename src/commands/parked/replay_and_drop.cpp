#include "commands/parked/replay_and_drop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amqp/dead_letter_tap.h"
#include "commands/common/json.h"
#include "commands/common/progress.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/parked_queues.h"
#include "core/safe_text.h"
#include "system/clock.h"
#include "system/random.h"

namespace retryd::commands {

namespace {

using RunEnd = admin::ParkedRun::End;

std::string how_to_fix(const admin::ParkedRunCounts& counts) {
    if (counts.refused > counts.failed) return "The queue refuses them: is it full? Make room there first.";
    if (counts.unrouted > counts.failed) return "Their queue is gone: declare it again, or name another with --to.";
    return "Fix the consumer first: what it rejects goes through all retries again.";
}

/// Why the run ended early, and what to do; empty if it did not.
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
                   "before 3.10 no other one can go on. Select the ones in front first, or drop them." +
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

/// The key of an end in the JSON.
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

namespace {

/// The exchanges that lead to the error queue.
std::vector<core::BindingSpec> error_exchanges(const core::Policy& policy) {
    std::vector<core::BindingSpec> exchanges{{"", policy.error_exchange, "", {}}};
    for (const core::ErrorBinding& binding : policy.error_bindings)
        exchanges.push_back({"", binding.exchange, binding.routing_key, {}});
    return exchanges;
}

/// The work of one command: looks, checks that everything is ready, asks if needed, then processes one parking queue
/// after the other.
class ReplayOrDrop {
  public:
    ReplayOrDrop(const config::Settings& settings, const ParkedOptions& options, const ParkedRunOptions& run,
                 const ParkedRunScene& scene)
        : settings_(settings),
          run_(run),
          scene_(scene),
          browser_(settings, options, scene.now, scene.stop, scene.progress) {
        report_.id = scene.id;
        report_.drop = scene.drop;
        report_.dry_run = run.dry_run;
        report_.stop_above = run.stop_above;
    }

    ParkedRunReport execute() {
        look();
        report_.fault = report_.overview.fault;
        if (report_.overview.interrupted) report_.fault = "interrupted: nothing was changed";
        if (scene_.edited != nullptr && report_.meant() == 0 && report_.fault.empty()) report_.fault = why_gone();
        if (!report_.fault.empty() || report_.meant() == 0) return std::move(report_);
        const std::string fault = report_.drop ? "" : prepare_replay();
        if (!fault.empty()) report_.fault = "nothing was changed: " + fault;
        if (!report_.fault.empty() || run_.dry_run) return std::move(report_);
        if (report_.drop && scene_.agreed && !scene_.agreed(report_)) {
            report_.fault = "nothing was dropped";
        } else {
            empty_queues();
        }
        return std::move(report_);
    }

  private:
    std::string why_gone() const {
        std::string text =
            "nothing was sent: the message is not parked there any more; somebody has replayed or "
            "dropped it meanwhile, or holds it at the moment";
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            if (!queue.fault.empty()) text = "nothing was sent: " + queue.fault;
        }
        for (const std::string& note : report_.overview.notes)
            text += "; " + note;
        return text;
    }

    void look() {
        report_.overview = browser_.browse([&](const std::string&, const core::Delivery&, std::size_t number) {
            return !run_.first || number < *run_.first;
        });
        // Messages that cannot be handed over come last, so `first` does not include them.
        const std::size_t kept = run_.first ? 0 : report_.overview.undeliverable_selected();
        (report_.drop ? report_.undeliverable : report_.left) = kept;
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            if (report_.drop || queue.undeliverable() == 0) continue;
            const bool one = queue.undeliverable() == 1;
            report_.notes.push_back(counted(queue.undeliverable(), "message", "messages") + " in " +
                                    core::quoted(queue.name) + " that RabbitMQ cannot hand over by AMQP 0-9-1 cannot " +
                                    "be replayed and " + (one ? "stays" : "stay") +
                                    ": retryd parked list shows what is known of " + (one ? "it" : "them") +
                                    ", retryd parked drop --reason undeliverable deletes " + (one ? "it" : "them"));
        }
    }

    /// Why nothing can be sent; empty if everything is ready.
    std::string prepare_replay() {
        destinations_ = find_destinations(browser_.broker(), settings_, work_queues(), parked_in(), !run_.to.empty());
        report_.notes.insert(report_.notes.end(), destinations_.notes.begin(), destinations_.notes.end());
        if (!destinations_.fault.empty() || run_.dry_run || !run_.stop_above) return destinations_.fault;
        tap_.emplace(endpoint_of(settings_, browser_.broker().identity()), settings_.broker,
                     "retryd.replay." + report_.id, error_exchanges(settings_.policy));
        if (tap_->refusal().empty()) return "";
        return "whether replayed messages fail again cannot be watched: " + tap_->refusal() +
               ". The user needs configure, write and read on queues named retryd.replay.* and read on the error "
               "exchange; or go on without watching, with --stop-after never";
    }

    /// The work queues of the selected messages.
    std::set<std::string> work_queues() const {
        std::set<std::string> names;
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            for (const auto& [key, group] : queue.selected.all()) {
                const std::string& name = run_.to.empty() ? key.first : run_.to;
                if (!name.empty()) names.insert(name);
            }
        }
        return names;
    }

    std::set<std::string> parked_in() const {
        std::set<std::string> names;
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            if (queue.selected.messages() > 0) names.insert(queue.name);
        }
        return names;
    }

    void empty_queues() {
        for (const ParkingQueueOverview& queue : report_.overview.queues) {
            const bool drops_undeliverable =
                report_.drop && !run_.first && queue.undeliverable_selected && queue.undeliverable() > 0;
            if (queue.selected.messages() == 0 && !drops_undeliverable) continue;
            ParkedQueueResult& result = report_.queues.emplace_back();
            result.name = queue.name;
            if (queue.selected.messages() > 0) {
                await_return(queue);
                result.run = run_on(queue);
            } else {
                result.run.end = admin::ParkedRun::End::all;
            }
            result.selected = queue.selected.messages();
            if (result.run.end != admin::ParkedRun::End::all || !result.run.fault.empty()) return;
            if (drops_undeliverable) drop_undeliverable(queue, result);
        }
    }

    /// Done last, because the others were selected while these were out of the way.
    static void drop_undeliverable(const ParkingQueueOverview& queue, ParkedQueueResult& result) {
        const std::size_t number = queue.undeliverable();
        result.selected += number;
        try {
            queue.undeliverable_taker->drop();
            result.run.counts.done += number;
        } catch (const amqp::Error& error) {
            result.run.fault = error.what();
        }
    }

    /// The broker returns what the first look had unacked a moment after it has left; if the run started earlier, newer
    /// messages would come first.
    void await_return(const ParkingQueueOverview& queue) {
        constexpr int tries = 50;
        constexpr core::Milliseconds pause{40};
        for (int i = 0; i < tries; ++i) {
            const auto there = browser_.broker().carry_out(amqp::Declarer::CheckQueue{queue.name});
            if (there.counts.messages + queue.undeliverable() >= queue.messages || browser_.stop().pending()) return;
            browser_.broker().wait(pause);
        }
    }

    ParkedRunResult run_on(const ParkingQueueOverview& queue) {
        ProgressStep step(browser_.progress(), queue.name, report_.drop ? "dropped" : "replayed",
                          queue.selected.messages());
        const auto show = [&](const admin::ParkedRunCounts& counts, const std::string& blocked) {
            const std::size_t failures = counts.failures();
            std::string note = failures > 0 ? std::to_string(failures) + " failed" : "";
            if (!blocked.empty()) note = "waiting: the broker takes no messages (" + core::safe_name(blocked) + ")";
            step.show(counts.done, note);
        };
        ParkedRunner runner(settings_, browser_.broker(), browser_.stop(), tap_ ? &*tap_ : nullptr,
                            queue.undeliverable_taker.get());
        if (scene_.edited != nullptr) runner.before_sending(scene_.edited->before);
        return runner.run(queue.name, queue.messages - queue.undeliverable(), order_for(queue), show);
    }

    admin::ParkedRunOrder order_for(const ParkingQueueOverview& queue) const {
        admin::ParkedRunOrder order;
        order.action = report_.drop ? admin::ParkedRunOrder::Action::drop : admin::ParkedRunOrder::Action::send;
        order.selection = browser_.selection();
        order.count = queue.looked_at;
        if (run_.first) order.first = queue.selected.messages();
        order.most_waiting_bytes = scene_.most_waiting_bytes;
        order.error_queue = settings_.policy.error_queue;
        order.from = queue.name;
        order.to = run_.to;
        if (scene_.edited != nullptr) order.instead = scene_.edited->message;
        order.id = report_.id;
        order.connection_user = username_;
        order.through_return = destinations_.through_return;
        order.reachable = destinations_.reachable;
        order.proof_keys = browser_.proof_keys();
        order.per_second = run_.per_second;
        order.ramp = run_.ramp;
        order.stop_above = run_.stop_above;
        // Failures are counted over all queues.
        if (order.stop_above) *order.stop_above -= std::min(*order.stop_above, report_.failed());
        return order;
    }

    const config::Settings& settings_;
    const ParkedRunOptions& run_;
    const ParkedRunScene& scene_;
    ParkingQueuesBrowser browser_;
    std::string username_ = endpoint_of(settings_, browser_.broker().identity()).username;
    ParkedRunReport report_;
    Destinations destinations_;
    std::optional<amqp::DeadLetterTap> tap_;
};

}  // namespace

bool says_which(const ParkedOptions& options, const ParkedRunOptions& run) {
    return run.all || run.first || !selection_of(options, {}).everything();
}

ParkedRunReport replay_or_drop(const config::Settings& settings, const ParkedOptions& options,
                               const ParkedRunOptions& run, const ParkedRunScene& scene) {
    return ReplayOrDrop(settings, options, run, scene).execute();
}

namespace {

/// Asks the person before anything is deleted.
bool agrees_to_drop(const ParkedRunReport& looked, const ParkedRunScene& scene, std::ostream& err) {
    const std::size_t number = looked.meant();
    if (isatty(STDIN_FILENO) != 1) {
        err << "retryd: " << counted(number, "message", "messages")
            << " would be deleted for good; --yes does it without a question\n";
        return false;
    }
    print_overview(looked.overview, scene.now, false, err);
    err << "\nDelete " << (number == 1 ? "this message" : "these " + std::to_string(number) + " messages")
        << " for good? [y/N] " << std::flush;
    std::array fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{scene.stop.fd, POLLIN, 0}};
    std::string answer;
    if (poll(fds.data(), fds.size(), -1) > 0 && fds[1].revents == 0) std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

int run_and_print(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, bool drop, const EditedReplay* edited) {
    constexpr std::size_t id_bytes = 8;
    Foreground foreground(output.err());
    ParkedRunScene scene{drop, drop ? "" : system::random_hex(id_bytes), system::wall_now(), foreground.stop(),
                         foreground};
    scene.edited = edited;
    if (!run.yes)
        scene.agreed = [&](const ParkedRunReport& looked) { return agrees_to_drop(looked, scene, output.err()); };
    const ParkedRunReport report = replay_or_drop(settings, options, run, scene);
    if (!report.fault.empty()) return output.fail(report.fault, exit_code::failed);
    if (output.json()) {
        print_json(json_of(report), output.out());
    } else {
        print_run_report(report, scene.now, output.colour(), output.out());
    }
    return report.ok() ? exit_code::fine : exit_code::failed;
}

int replay_or_drop_selected(const ParkedOptions& options, const ParkedRunOptions& run, bool drop, std::ostream& out,
                            std::ostream& err) {
    const Report output(options.report, out, err);
    if (!says_which(options, run)) {
        const std::string command = drop ? "drop" : "replay";
        return output.fail("parked " + command +
                               " needs to know which messages: give --queue, --reason, --older-than, --newer-than, "
                               "--header, --id, --exchange, --type or --first, or --all for every one",
                           exit_code::wrong_usage);
    }
    return output.run(
        [&](const config::Settings& settings) { return run_and_print(output, settings, options, run, drop, nullptr); });
}

}  // namespace

int parked_replay(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err) {
    return replay_or_drop_selected(options, run, false, out, err);
}

int parked_drop(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err) {
    return replay_or_drop_selected(options, run, true, out, err);
}

int replay_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, const EditedReplay& edited) {
    return run_and_print(output, settings, options, run, false, &edited);
}

}  // namespace retryd::commands
