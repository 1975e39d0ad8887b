#include "commands/waiting.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <utility>

#include "admin/parked.h"
#include "amqp/error.h"
#include "amqp/proof_keys.h"
#include "commands/common/checked_queue.h"
#include "commands/common/json.h"
#include "commands/common/options.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/browse_queue.h"
#include "commands/parked/parked_queues.h"
#include "core/duration.h"
#include "core/safe_text.h"
#include "core/topology.h"
#include "http/client.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

/// Finds the configured rungs that exist on the broker, and counts the messages on them. Consumes nothing.
class RungFinder {
  public:
    /// `only`: of all of them that one alone; empty: all.
    RungFinder(Broker& broker, const core::Policy& policy, const std::string& work_queue, const std::string& only)
        : broker_(broker), policy_(policy), work_queue_(work_queue), only_(only) {}

    WaitingRungs find() {
        for (const core::Entry& entry : policy_.entries)
            add(entry);
        add_listed();
        WaitingRungs found;
        found.notes = std::move(notes_);
        QueueCounter counter(broker_);
        for (auto& [name, rung] : rungs_) {
            if (!only_.empty() && name != only_) continue;
            const auto [there, believed] = counter.count_once_given_back(name);
            if (there.result == amqp::Declarer::Result::missing) continue;
            if (there.result == amqp::Declarer::Result::refused)
                found.notes.push_back("rung " + core::quoted(name) + ": " + there.text);
            if (!believed) found.notes.push_back("how many messages lie in " + core::quoted(name) + not_counted_now);
            const bool known = believed && there.result == amqp::Declarer::Result::done;
            found.rungs.push_back({name, std::move(rung), known ? std::optional{there.counts.messages} : std::nullopt});
        }
        return found;
    }

  private:
    bool wanted(const std::string& name) const { return work_queue_.empty() || core::glob_matches(work_queue_, name); }

    /// Adds the rungs whose names follow from the configuration.
    void add(const core::Entry& entry) {
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        std::string serves = shared ? entry.ladder.name : entry.match;
        if (!shared && core::is_glob(entry.match)) {
            if (work_queue_.empty() || core::is_glob(work_queue_)) {
                any_glob_ = true;
                return;
            }
            serves = work_queue_;
        }
        if (!shared && (!wanted(serves) || core::match(policy_, serves) != &entry)) return;
        const bool split = core::features_of(broker_.identity().version).priority_blocks_expiry;
        for (const core::Milliseconds delay : core::distinct_delays(entry.ladder)) {
            for (const bool high : {false, true}) {
                if (high && !split) continue;
                rungs_.try_emplace(core::rung_name_of(entry.ladder, serves, delay, high),
                                   core::ParsedRung{serves, entry.ladder.return_path, delay, entry.ladder.x_death});
            }
        }
    }

    /// Adds the rungs of globs, and those that an earlier ladder has left.
    void add_listed() {
        if (broker_.management() == nullptr) {
            if (any_glob_)
                notes_.push_back(
                    "the rungs of globs were not looked for: AMQP cannot list queues. Set management.url; "
                    "or name a work queue with --queue NAME");
            return;
        }
        try {
            for (const http::ListedQueue& queue : broker_.management()->queues()) {
                const auto rung = core::parse_rung(queue.name, queue.arguments);
                if (rung && serves_us(*rung)) rungs_.try_emplace(queue.name, *rung);
            }
        } catch (const http::Error& error) {
            notes_.push_back(std::string{"the rungs of globs, and those of former ladders, were not looked for: "} +
                             error.what());
        }
    }

    bool serves_us(const core::ParsedRung& rung) const {
        if (rung.return_path == core::ReturnPath::queue)
            return wanted(rung.serves) && core::match(policy_, rung.serves) != nullptr;
        return std::any_of(policy_.entries.begin(), policy_.entries.end(),
                           [&](const core::Entry& entry) { return entry.ladder.name == rung.serves; });
    }

    Broker& broker_;
    const core::Policy& policy_;
    const std::string& work_queue_;
    const std::string& only_;
    std::map<std::string, core::ParsedRung> rungs_;
    std::vector<std::string> notes_;
    bool any_glob_ = false;
};

using Action = admin::ParkedRunOrder::Action;
using WaitingEnd = admin::ParkedRun::End;

bool went_well(const WaitingResult& result) {
    const admin::ParkedRunCounts& counts = result.run.counts;
    return result.run.fault.empty() && result.run.end == WaitingEnd::all && counts.failures() == 0 &&
           counts.unknown == 0;
}

/// What the three commands share.
struct WaitingScene {
    WaitingScene(const config::Settings& from, const WaitingOptions& with)
        : settings(from), options(with), broker(connect(from, "retryd waiting")) {
        selection = {with.queue, with.reason, {}, {}, with.headers, {}, {}, {}};
        selection.replay = with.replay;
        const core::WallTime now = system::wall_now();
        if (with.older_than) selection.parked_before = now - *with.older_than;
        if (with.newer_than) selection.parked_after = now - *with.newer_than;
        found = RungFinder(*broker, from.policy, with.queue, with.from).find();
        if (!with.from.empty() && found.rungs.empty()) fault = why_not_from(with.from);
    }

    std::string why_not_from(const std::string& queue) const {
        const bool missing =
            broker->carry_out(amqp::Declarer::CheckQueue{queue}).result == amqp::Declarer::Result::missing;
        std::string text = "queue " + core::quoted(queue) +
                           (missing ? " does not exist"
                                    : " is not known as a rung of this configuration" +
                                          (options.queue.empty() ? "" : " for " + core::quoted(options.queue)));
        for (const std::string& note : found.notes)
            text += "; " + note;
        return text + ". Nothing was touched; retryd waiting list shows what waits, and where";
    }

    const config::Settings& settings;
    const WaitingOptions& options;
    std::unique_ptr<Broker> broker;
    admin::Selection selection;
    WaitingRungs found;
    std::string fault;  // why nothing can be done; empty if something can
};

/// First looks at the messages if that is needed to know their work queues, then processes one rung after the other.
class SendOrPark {
  public:
    SendOrPark(const config::Settings& settings, const WaitingOptions& options, bool park, StopSign stop,
               Progress& progress)
        : scene_(settings, options),
          stop_(std::move(stop)),
          progress_(progress),
          park_(park),
          proof_keys_(amqp::proof_keys(settings)) {}

    WaitingReport execute() {
        report_.park = park_;
        report_.dry_run = scene_.options.dry_run;
        report_.fault = scene_.fault;
        report_.not_seen = scene_.found.notes;
        if (!report_.fault.empty()) return std::move(report_);
        for (const WaitingRung& rung : scene_.found.rungs) {
            const bool enough = scene_.options.first && report_.done >= *scene_.options.first;
            if (enough) break;
            if (!rung.messages) report_.all_counted = false;
            const std::size_t messages = rung.messages.value_or(0);
            if (messages == 0) continue;
            WaitingResult& result = report_.results.emplace_back(WaitingResult{rung.queue, messages, 0, {}});
            const std::set<std::string> work_queues = work_queues_on(rung, result);
            result.run.end = stop_.pending() ? WaitingEnd::interrupted : WaitingEnd::all;
            if (scene_.options.dry_run || work_queues.empty() || stop_.pending()) continue;
            work_on(rung, work_queues, result);
            report_.done += result.run.counts.done;
            if (!result.run.fault.empty()) break;
        }
        return std::move(report_);
    }

  private:
    /// The work queues of the messages on a rung. For a rung of one work queue they follow from the name; for a shared
    /// one, and to count the selected messages, it has to look.
    std::set<std::string> work_queues_on(const WaitingRung& rung, WaitingResult& result) {
        if (rung.rung.return_path == core::ReturnPath::queue && !scene_.options.dry_run) return {rung.rung.serves};
        std::set<std::string> names;
        const auto look = [&](const core::Delivery* delivery) {
            if (delivery == nullptr) return true;
            const core::Table headers = delivery->message.properties.header_table();
            const admin::Parked waiting = admin::read_waiting(headers, proof_keys_);
            if (!admin::selects(scene_.selection, waiting, delivery->message)) return true;
            ++result.selected;
            if (!waiting.queue.empty()) names.emplace(waiting.queue);
            return !scene_.options.first || report_.done + result.selected < *scene_.options.first;
        };
        ProgressStep step(progress_, rung.queue, "looked at", result.waiting);
        browse_one_queue(
            scene_.settings, *scene_.broker, rung.queue, result.waiting, stop_, look,
            [&](std::size_t messages) { step.show(messages, ""); }, nullptr);
        return names;
    }

    void work_on(const WaitingRung& rung, const std::set<std::string>& work_queues, WaitingResult& result) {
        admin::ParkedRunOrder order;
        order.action = park_ ? Action::park : Action::home;
        order.selection = scene_.selection;
        order.count = result.waiting;
        if (scene_.options.first) order.first = *scene_.options.first - report_.done;
        order.error_queue = scene_.settings.policy.error_queue;
        order.from = rung.queue;
        order.connection_user = endpoint_of(scene_.settings, scene_.broker->identity()).username;
        order.proof_keys = proof_keys_;
        order.per_second = park_ ? 0 : scene_.options.per_second;
        if (park_) {
            for (const std::string& name : work_queues)
                add_parking(name, order);
        } else {
            const Destinations to = find_destinations(*scene_.broker, scene_.settings, work_queues, {}, false);
            report_.notes.insert(to.notes.begin(), to.notes.end());
            order.reachable = to.reachable;
            order.through_return = to.through_return;
        }
        ProgressStep step(progress_, rung.queue, park_ ? "parked" : "sent home", result.waiting);
        const auto show = [&](const admin::ParkedRunCounts& counts, const std::string& blocked) {
            step.show(counts.done, blocked.empty() ? "" : "waiting: the broker takes no messages");
        };
        const ParkedRunner runner(scene_.settings, *scene_.broker, stop_, nullptr, nullptr);
        result.run = runner.run(rung.queue, result.waiting, std::move(order), show);
        result.selected = result.run.counts.selected;
    }

    /// Parks as the daemon does: in the parking queue of the entry, which is declared if it is missing, or through the
    /// entry's exchange.
    void add_parking(const std::string& work_queue, admin::ParkedRunOrder& order) {
        const core::Entry* const entry = core::match(scene_.settings.policy, work_queue);
        if (entry == nullptr) return;
        const core::Parking& parked = entry->parked;
        if (!parked.exchange.empty()) {
            const std::string key = parked.routing_key ? core::expand_queue(*parked.routing_key, work_queue) : "";
            order.parking.emplace(work_queue, std::pair{parked.exchange, key});
            return;
        }
        const core::BrokerFeatures features = core::features_of(scene_.broker->identity().version);
        const std::string queue = core::parking_queue_of(parked, work_queue, features);
        auto there = scene_.broker->carry_out(amqp::Declarer::CheckQueue{queue});
        if (there.result == amqp::Declarer::Result::missing && scene_.settings.declare)
            there = scene_.broker->carry_out(core::parking_queue_spec(queue, features));
        if (there.result == amqp::Declarer::Result::done) {
            order.parking.emplace(work_queue, std::pair{std::string{}, queue});
        } else {
            report_.notes.insert("messages of " + core::quoted(work_queue) + " cannot be parked: " + there.text);
        }
    }

    WaitingScene scene_;
    StopSign stop_;
    Progress& progress_;
    bool park_;
    core::ProofKeys proof_keys_;
    WaitingReport report_;
};

Json json_of_rung(const WaitingResult& result) {
    const admin::ParkedRunCounts& counts = result.run.counts;
    const std::string ended = why_it_ended(result);
    return {{"rung", result.rung},
            {"waiting", result.waiting},
            {"selected", result.selected},
            {"done", counts.done},
            {"not_selected", counts.not_selected},
            {"no_place_to_go_to", counts.without_destination},
            {"refused", counts.refused},
            {"unrouted", counts.unrouted},
            {"headers_too_large", counts.too_large},
            {"outcome_unknown", counts.unknown},
            {"ended", ended.empty() ? Json() : Json(ended)}};
}

}  // namespace

std::string why_it_ended(const WaitingResult& result) {
    const std::string rest = " What is left stays on its rung, and comes back when its delay is over.";
    if (!result.run.fault.empty())
        return "The connection was lost: " + result.run.fault + ". The last few may come twice." + rest;
    if (!result.run.why.empty()) return "Stopped: " + result.run.why + "." + rest;
    if (result.run.end == WaitingEnd::interrupted)
        return "Interrupted: all that was sent is confirmed and settled." + rest;
    if (result.run.end == WaitingEnd::held) return "Stopped: a consumer cannot hold more messages than this." + rest;
    return "";
}

bool WaitingReport::stopped() const {
    return std::any_of(results.begin(), results.end(),
                       [](const WaitingResult& result) { return result.run.end == WaitingEnd::interrupted; });
}

bool WaitingReport::ok() const {
    return fault.empty() && all_counted && std::all_of(results.begin(), results.end(), went_well);
}

WaitingReport send_or_park(const config::Settings& settings, const WaitingOptions& options, bool park, StopSign stop,
                           Progress& progress) {
    return SendOrPark(settings, options, park, std::move(stop), progress).execute();
}

WaitingList list_waiting(const config::Settings& settings, const WaitingOptions& options) {
    WaitingScene scene(settings, options);
    return {std::move(scene.found), std::move(scene.fault)};
}

bool says_which(const WaitingOptions& options) {
    return options.all || !options.queue.empty() || !options.reason.empty() || options.older_than ||
           options.newer_than || !options.headers.empty() || !options.from.empty() || options.first;
}

Json json_of(const WaitingReport& report) {
    Json rungs = Json::array();
    for (const WaitingResult& result : report.results)
        rungs.push_back(json_of_rung(result));
    return {{"ok", report.ok()}, {"dry_run", report.dry_run}, {"done", report.done},
            {"rungs", rungs},    {"notes", report.notes},     {"not_seen", report.not_seen}};
}

Json json_of(const WaitingRungs& found) {
    Json rungs = Json::array();
    for (const WaitingRung& rung : found.rungs) {
        const bool shared = rung.rung.return_path == core::ReturnPath::headers;
        rungs.push_back({{"rung", rung.queue},
                         {shared ? "ladder" : "work_queue", rung.rung.serves},
                         {"delay_ms", rung.rung.delay.count()},
                         {"messages", rung.messages ? Json(*rung.messages) : Json()}});
    }
    return {{"ok", true}, {"rungs", rungs}, {"not_seen", found.notes}};
}

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
            if (result.run.end == WaitingEnd::interrupted) out << "  Interrupted: not all were looked at.\n";
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
        if (rung.messages == 0U) continue;
        const bool shared = rung.rung.return_path == core::ReturnPath::headers;
        rows.push_back(
            {shared ? "(ladder " + core::safe_name(rung.rung.serves) + ")" : core::safe_name(rung.rung.serves),
             core::safe_name(rung.queue), rung.messages ? std::to_string(*rung.messages) : "not known",
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

void WaitingCommands::add_to(CLI::App& app) {
    waiting_ = app.add_subcommand("waiting", "List messages on rungs, send them home now or park them");
    waiting_->require_subcommand(1);
    list_ = add_command("list", "Print how many messages wait on each rung; takes nothing out");
    send_ = add_command(
        "send",
        "Send messages home now, as their rung would. Messages that are not selected go back to their rung at the "
        "end. Ctrl-C ends it in order");
    add_selectors(*send_);
    add_rate(*send_, rate_);
    park_ = add_command("park", "Park messages now, as if they had used up their ladder");
    add_selectors(*park_);
}

CLI::App* WaitingCommands::add_command(const std::string& name, const std::string& what) {
    CLI::App* const command = waiting_->add_subcommand(name, what);
    add_report_options(*command, config_path_, json_);
    add_text(*command, "--from", options_.from, "This rung alone", "QUEUE", check_name);
    add_work_queue(*command, options_.queue);
    return command;
}

void WaitingCommands::add_selectors(CLI::App& command) {
    add_text(command, "--reason", options_.reason, "Died for this reason; a name or a glob (rejected, delivery_*)",
             "REASON", check_name);
    add_age_and_headers(command, "First died", {older_than_, newer_than_, headers_});
    command.add_option("--first", first_, "Only the first N of the selected")
        ->type_name("N")
        ->check(CLI::Validator(check_positive, "", ""));
    command.add_flag("--all", options_.all, "Every message; needed where nothing else selects");
    command.add_flag("--dry-run", options_.dry_run, "Print how many it would be and change nothing");
}

bool WaitingCommands::parsed() const {
    return waiting_->parsed();
}

int WaitingCommands::run(const ReportOptions& before, std::ostream& out, std::ostream& err) const {
    WaitingOptions options = options_;
    options.report = before;
    if (!config_path_.empty()) options.report.config_path = config_path_;
    options.report.json = before.json || json_;
    put_age_and_headers(older_than_, newer_than_, headers_, options);
    if (first_ > 0) options.first = first_;
    options.per_second = per_second_of(rate_);
    if (list_->parsed()) return waiting_list(options, out, err);
    return send_->parsed() ? waiting_send(options, out, err) : waiting_park(options, out, err);
}

}  // namespace retryd::commands
