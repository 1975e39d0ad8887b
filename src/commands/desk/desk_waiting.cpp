// Messages that wait on rungs: the list, send, park; and undo of a replay, which parks again what it sent and has
// failed.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "commands/desk/desk_scene.h"
#include "commands/waiting.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

admin::DeskOutcome desk_waiting_list(DeskScene& scene) {
    const WaitingList list = list_waiting(scene.settings, scene.request.waiting);
    if (!list.fault.empty()) return desk_failure(list.fault);
    admin::DeskOutcome outcome;
    outcome.ok = true;
    for (const WaitingRung& rung : list.found.rungs)
        outcome.done += rung.messages.value_or(0);
    outcome.result = telemetry::to_safe_json(json_of(list.found));
    return outcome;
}

namespace {

admin::DeskOutcome waiting_outcome(const WaitingReport& report) {
    if (!report.fault.empty()) return desk_failure(report.fault);
    admin::DeskOutcome outcome;
    outcome.ok = report.ok();
    outcome.stopped = report.stopped();
    outcome.done = report.done;
    outcome.result = telemetry::to_safe_json(json_of(report));
    return outcome;
}

/// The work queues that a replay sent to, according to its run; none if unknown.
std::set<std::string> destinations_of(const std::string& run) {
    std::set<std::string> names;
    Json json = Json::parse(run, nullptr, false);
    if (!json.is_object() || !json["request"].is_object() || !json["result"].is_object()) return names;
    const Json& to = json["request"]["to"];
    if (to.is_string() && !to.get_ref<const std::string&>().empty()) return {to.get<std::string>()};
    for (const Json& queue : json["result"]["looked_at"]) {
        for (const Json& group : queue["groups"]) {
            const std::string name = group.value("work_queue", "");
            if (!name.empty()) names.insert(name);
        }
    }
    return names;
}

void merge(WaitingReport& into, WaitingReport&& more) {
    if (into.fault.empty()) into.fault = std::move(more.fault);
    into.done += more.done;
    into.all_counted = into.all_counted && more.all_counted;
    for (WaitingResult& result : more.results)
        into.results.push_back(std::move(result));
    into.notes.merge(more.notes);
    for (std::string& note : more.not_seen) {
        const bool known = std::find(into.not_seen.begin(), into.not_seen.end(), note) != into.not_seen.end();
        if (!known) into.not_seen.push_back(std::move(note));
    }
}

}  // namespace

admin::DeskOutcome desk_send_or_park(DeskScene& scene, bool park) {
    return waiting_outcome(send_or_park(scene.settings, scene.request.waiting, park, scene.stop, scene.progress));
}

/// Parks again what an earlier replay sent and that has failed again and waits on rungs. The header retryd-replays
/// tells which run sent a message last. If the work queues of that run are known, only their rungs are looked at.
admin::DeskOutcome desk_undo(DeskScene& scene) {
    WaitingOptions options = scene.request.waiting;
    std::set<std::string> queues = destinations_of(scene.control.earlier(scene.request.replay_run));
    if (!options.queue.empty() || queues.empty()) queues = {options.queue};
    WaitingReport report;
    report.park = true;
    report.dry_run = options.dry_run;
    for (const std::string& queue : queues) {
        options.queue = queue;
        merge(report, send_or_park(scene.settings, options, true, scene.stop, scene.progress));
        if (report.stopped() || !report.fault.empty()) break;
    }
    return waiting_outcome(report);
}

}  // namespace retryd::commands
