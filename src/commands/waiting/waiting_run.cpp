#include "commands/waiting/waiting_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "admin/waiting.h"
#include "amqp/error.h"
#include "amqp/proof_keys.h"
#include "commands/common/json.h"
#include "commands/parked/browse_queue.h"
#include "commands/parked/parked_queues.h"
#include "core/safe_text.h"
#include "core/topology.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using Action = admin::ParkedRunOrder::Action;
using WaitingEnd = admin::ParkedRun::End;

bool went_well(const WaitingResult& result) {
    const admin::ParkedRunCounts& counts = result.run.counts;
    return result.run.fault.empty() && result.run.end == WaitingEnd::all && counts.failures() == 0 &&
           counts.unknown == 0;
}

/// What the commands have in common.
struct WaitingScene {
    WaitingScene(const config::Settings& from, const WaitingOptions& with)
        : settings(from), options(with), broker(connect(from, "retryd waiting")) {
        selection = {with.queue, with.reason, {}, {}, with.headers, {}, {}, {}};
        selection.replay = with.replay;
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
    std::unique_ptr<Broker> broker;
    admin::Selection selection;
    WaitingRungs found;
    std::string fault;  // why nothing can be done
};

/// Looks, where that is needed to know which work queues are meant, then one rung after the other.
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
            if (enough || rung.messages == 0 || stop_.pending()) continue;
            WaitingResult& result = report_.results.emplace_back(WaitingResult{rung.queue, rung.messages, 0, {}});
            const std::set<std::string> work_queues = work_queues_on(rung, result);
            result.run.end = WaitingEnd::all;
            if (scene_.options.dry_run || work_queues.empty()) continue;
            work_on(rung, work_queues, result);
            report_.done += result.run.counts.done;
            if (!result.run.fault.empty()) break;
        }
        report_.stopped = stop_.pending();
        return std::move(report_);
    }

  private:
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
            return !scene_.options.first || report_.done + result.selected < *scene_.options.first;
        };
        ProgressStep step(progress_, rung.queue, "looked at", rung.messages);
        browse_queue(
            scene_.settings, *scene_.broker, rung.queue, rung.messages, stop_, look,
            [&](std::size_t messages) { step.show(messages, ""); }, nullptr);
        return names;
    }

    void work_on(const WaitingRung& rung, const std::set<std::string>& work_queues, WaitingResult& result) {
        admin::ParkedRunOrder order;
        order.action = park_ ? Action::park : Action::home;
        order.selection = scene_.selection;
        order.count = rung.messages;
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
        ProgressStep step(progress_, rung.queue, park_ ? "parked" : "sent home", rung.messages);
        const auto show = [&](const admin::ParkedRunCounts& counts, const std::string& blocked) {
            step.show(counts.done, blocked.empty() ? "" : "waiting: the broker takes no messages");
        };
        const ParkedRunner runner(scene_.settings, *scene_.broker, stop_, nullptr, nullptr);
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
    const std::string rest = " What is left waits on, and goes home in its time.";
    if (!result.run.fault.empty())
        return "The connection was lost: " + result.run.fault + ". The last few may come twice." + rest;
    if (!result.run.why.empty()) return "Stopped: " + result.run.why + "." + rest;
    if (result.run.end == WaitingEnd::interrupted)
        return "Interrupted: all that was sent is confirmed and settled." + rest;
    if (result.run.end == WaitingEnd::held) return "Stopped: a consumer cannot hold more messages than this." + rest;
    return "";
}

bool WaitingReport::ok() const {
    return fault.empty() && !stopped && std::all_of(results.begin(), results.end(), went_well);
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
                         {"messages", rung.messages}});
    }
    return {{"ok", true}, {"rungs", rungs}, {"not_seen", found.notes}};
}

}  // namespace retryd::commands
