#include "commands/waiting/waiting.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <ostream>
#include <set>
#include <utility>

#include "admin/waiting.h"
#include "amqp/error.h"
#include "amqp/proof_keys.h"
#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/browse_queue.h"
#include "commands/parked/parked_queues.h"
#include "commands/parked/runner.h"
#include "commands/waiting/waiting_rungs.h"
#include "core/duration.h"
#include "core/safe_text.h"
#include "core/topology.h"
#include "system/clock.h"
#include "system/signals.h"

namespace retryd::commands {

namespace {

using Action = admin::ParkedRunOrder::Action;
using RunEnd = admin::ParkedRun::End;

struct WaitingResult {
    std::string rung;
    std::size_t waiting = 0;   // at the start
    std::size_t selected = 0;  // of a dry run
    ParkedRunResult run;
};

bool went_well(const WaitingResult& result) {
    const admin::ParkedRunCounts& counts = result.run.counts;
    return result.run.fault.empty() && result.run.end == RunEnd::all && counts.failures() == 0 && counts.unknown == 0;
}

std::string why_it_ended(const WaitingResult& result) {
    const std::string rest = " What is left waits on, and goes home in its time.";
    if (!result.run.fault.empty())
        return "The connection was lost: " + result.run.fault + ". The last few may come twice." + rest;
    if (!result.run.why.empty()) return "Stopped: " + result.run.why + "." + rest;
    if (result.run.end == RunEnd::interrupted) return "Interrupted: all that was sent is confirmed and settled." + rest;
    if (result.run.end == RunEnd::held) return "Stopped: a consumer cannot hold more messages than this." + rest;
    return "";
}

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

Json json_of(const WaitingResult& result) {
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

/// What the commands have in common.
struct WaitingScene {
    WaitingScene(const config::Settings& from, const WaitingOptions& with)
        : settings(from), options(with), broker(connect(from, "retryd waiting")) {
        selection = {with.queue, with.reason, {}, {}, with.headers, {}, {}, {}};
        const core::WallTime now = system::wall_now();
        if (with.older_than) selection.parked_before = now - *with.older_than;
        if (with.newer_than) selection.parked_after = now - *with.newer_than;
        found = find_waiting_rungs(*broker, from.policy, with.queue);
        if (with.from.empty()) return;
        std::erase_if(found.rungs, [&](const WaitingRung& r) { return r.queue != with.from; });
        if (found.rungs.empty()) fault = why_not_from(with.from);
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
    const system::Signals signals{SIGINT, SIGTERM};
    std::unique_ptr<Broker> broker;
    admin::Selection selection;
    WaitingRungs found;
    std::string fault;  // why nothing can be done
};

/// Looks, where that is needed to know which work queues are meant, then one rung after the other.
class SendOrPark {
  public:
    SendOrPark(const Report& output, const config::Settings& settings, const WaitingOptions& options, bool park)
        : output_(output), scene_(settings, options), park_(park), proof_keys_(amqp::proof_keys(settings)) {}

    /// The exit code.
    int execute() {
        if (!scene_.fault.empty()) return output_.fail(scene_.fault, exit_code::failed);
        for (const WaitingRung& rung : scene_.found.rungs) {
            const bool enough = scene_.options.first && done_ >= *scene_.options.first;
            if (enough || rung.messages == 0 || scene_.signals.pending()) continue;
            WaitingResult& result = results_.emplace_back(WaitingResult{rung.queue, rung.messages, 0, {}});
            const std::set<std::string> work_queues = work_queues_on(rung, result);
            result.run.end = RunEnd::all;
            if (scene_.options.dry_run || work_queues.empty()) continue;
            work_on(rung, work_queues, result);
            done_ += result.run.counts.done;
            if (!result.run.fault.empty()) break;
        }
        output_.json() ? print_as_json() : print();
        return ok() ? exit_code::fine : exit_code::failed;
    }

  private:
    bool ok() const { return !scene_.signals.pending() && std::all_of(results_.begin(), results_.end(), went_well); }

    /// Of a rung of one work queue that is known; of a shared one, and to know how many are selected, by a look.
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
            return !scene_.options.first || done_ + result.selected < *scene_.options.first;
        };
        ProgressBar bar(output_.err(), standard_error_is_terminal(), rung.messages, "looked at");
        browse_queue(
            scene_.settings, *scene_.broker, rung.queue, rung.messages, scene_.signals, look,
            [&](std::size_t messages) { bar.show(messages, ""); }, nullptr);
        return names;
    }

    void work_on(const WaitingRung& rung, const std::set<std::string>& work_queues, WaitingResult& result) {
        admin::ParkedRunOrder order;
        order.action = park_ ? Action::park : Action::home;
        order.selection = scene_.selection;
        order.count = rung.messages;
        if (scene_.options.first) order.first = *scene_.options.first - done_;
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
            notes_.insert(to.notes.begin(), to.notes.end());
            order.reachable = to.reachable;
            order.through_return = to.through_return;
        }
        ProgressBar bar(output_.err(), standard_error_is_terminal(), rung.messages, park_ ? "parked" : "sent home");
        const auto show = [&](const admin::ParkedRunCounts& counts, const std::string& blocked) {
            bar.show(counts.done, blocked.empty() ? "" : "waiting: the broker takes no messages");
        };
        const ParkedRunner runner(scene_.settings, *scene_.broker, scene_.signals, nullptr, nullptr);
        result.run = runner.run(rung.queue, rung.messages, std::move(order), show);
        result.selected = result.run.counts.selected;
    }

    /// As the daemon parks: in the queue of its entry, which is declared where it is missing, or through its exchange.
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
            notes_.insert("messages of " + core::quoted(work_queue) + " cannot be parked: " + there.text);
        }
    }

    void print() const {
        std::ostream& out = output_.out();
        const Bold bold{output_.colour()};
        for (const WaitingResult& result : results_) {
            out << bold(core::safe_name(result.rung)) << '\n';
            if (scene_.options.dry_run) {
                out << "  " << result.selected << " of " << counted(result.waiting, "message", "messages")
                    << " would be " << (park_ ? "parked" : "sent home") << '\n';
                continue;
            }
            print_table(rows_of(result, park_), "  ", out);
            const std::string end = why_it_ended(result);
            if (!end.empty()) out << "  " << core::safe_line(end) << '\n';
        }
        if (results_.empty())
            out << "Nothing waits" << (scene_.found.notes.empty() ? "" : " where it could be seen") << ".\n";
        for (const std::string& note : notes_)
            out << "Note: " << core::safe_line(note) << ".\n";
        for (const std::string& note : scene_.found.notes)
            out << "Not seen: " << core::safe_line(note) << ".\n";
    }

    void print_as_json() const {
        Json rungs = Json::array();
        for (const WaitingResult& result : results_)
            rungs.push_back(json_of(result));
        print_json({{"ok", ok()},
                    {"dry_run", scene_.options.dry_run},
                    {"done", done_},
                    {"rungs", rungs},
                    {"notes", notes_},
                    {"not_seen", scene_.found.notes}},
                   output_.out());
    }

    const Report& output_;
    WaitingScene scene_;
    bool park_;
    core::ProofKeys proof_keys_;
    std::vector<WaitingResult> results_;
    std::set<std::string> notes_;
    std::size_t done_ = 0;
};

int send_or_park(const WaitingOptions& options, bool park, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    const bool selects = !options.queue.empty() || !options.reason.empty() || options.older_than ||
                         options.newer_than || !options.headers.empty() || !options.from.empty() || options.first;
    if (!selects && !options.all) {
        return output.fail(std::string{"waiting "} + (park ? "park" : "send") +
                               " needs to know which messages: give --from, --queue, --reason, --older-than, "
                               "--newer-than, --header or --first, or --all for every one",
                           exit_code::wrong_usage);
    }
    return output.run(
        [&](const config::Settings& settings) { return SendOrPark(output, settings, options, park).execute(); });
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

void print_rungs_as_json(const WaitingRungs& found, std::ostream& out) {
    Json rungs = Json::array();
    for (const WaitingRung& rung : found.rungs) {
        const bool shared = rung.rung.return_path == core::ReturnPath::headers;
        rungs.push_back({{"rung", rung.queue},
                         {shared ? "ladder" : "work_queue", rung.rung.serves},
                         {"delay_ms", rung.rung.delay.count()},
                         {"messages", rung.messages}});
    }
    print_json({{"ok", true}, {"rungs", rungs}, {"not_seen", found.notes}}, out);
}

}  // namespace

int waiting_list(const WaitingOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    return output.run([&](const config::Settings& settings) {
        const WaitingScene scene(settings, options);
        if (!scene.fault.empty()) return output.fail(scene.fault, exit_code::failed);
        output.json() ? print_rungs_as_json(scene.found, out) : print_rungs(scene.found, out);
        return exit_code::fine;
    });
}

int waiting_send(const WaitingOptions& options, std::ostream& out, std::ostream& err) {
    return send_or_park(options, false, out, err);
}

int waiting_park(const WaitingOptions& options, std::ostream& out, std::ostream& err) {
    return send_or_park(options, true, out, err);
}

}  // namespace retryd::commands
