// What changes something: replay, drop, edit; what waits on rungs; and the hold of a work queue, which the daemon does
// (admin::DeskControl::hold): here is asked whether there is such a queue.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "admin/edit.h"
#include "amqp/declarer.h"
#include "amqp/error.h"
#include "amqp/sync_admin.h"
#include "commands/common/text.h"
#include "commands/desk/desk_actions.h"
#include "commands/parked/browser.h"
#include "commands/parked/message_line.h"
#include "core/policy.h"
#include "core/safe_text.h"
#include "system/clock.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

namespace {

admin::DeskOutcome failed_with(const std::string& error) {
    admin::DeskOutcome outcome;
    outcome.error = error;
    return outcome;
}

bool was_interrupted(const ParkedRunReport& report) {
    for (const ParkedQueueResult& queue : report.queues) {
        if (queue.run.end == admin::ParkedRun::End::interrupted) return true;
    }
    return false;
}

/// `changed`: of an edit, which fields.
admin::DeskOutcome replay_outcome(const ParkedRunReport& report, const std::vector<std::string>* changed = nullptr) {
    if (!report.fault.empty()) return failed_with(report.fault);
    admin::DeskOutcome outcome;
    outcome.ok = report.ok();
    outcome.stopped = was_interrupted(report);
    outcome.done = report.done();
    Json result = json_of(report, true);
    if (changed != nullptr) result["changed"] = *changed;
    outcome.result = telemetry::to_safe_json(std::move(result));
    return outcome;
}

ParkedRunScene run_scene(DeskScene& scene, bool drop) {
    constexpr std::size_t beside_a_daemon = std::size_t{32} * 1024 * 1024;
    return {drop, drop ? "" : scene.control.id, system::wall_now(), scene.stop, scene.progress, beside_a_daemon};
}

}  // namespace

/// Between what the operator has seen and what is dropped other messages may have come, which the operator has not
/// agreed to.
admin::DeskOutcome desk_replay_or_drop(DeskScene& scene, bool drop) {
    const DeskRequest& request = scene.request;
    ParkedRunScene with = run_scene(scene, drop);
    const auto& expected = request.expected;
    if (expected) with.agreed = [&](const ParkedRunReport& looked) { return looked.meant() == *expected; };
    const ParkedRunReport report = replay_or_drop(scene.settings, request.parked, request.run, with);
    const bool looked = report.overview.fault.empty() && !report.overview.interrupted;
    if (expected && looked && !report.dry_run && report.meant() != *expected)
        return failed_with("there are now " + counted(report.meant(), "message", "messages") + " of these, not " +
                           std::to_string(*expected) + ": nothing was dropped. Look again, then delete what you see");
    return replay_outcome(report);
}

namespace {

/// The message as it is asked to be: in the form of an exported line, with what is not to be changed as it is.
Json edited_line(const DeskRequest& request, const core::Message& original) {
    Json line{{"queue", request.parked.from}};
    line["properties"] = request.properties.value_or(json_of_properties(original.properties));
    const std::vector<core::Field> headers = admin::editable_headers(original);
    line["headers"] = request.headers.value_or(exact_json_of(core::Table{headers.data(), headers.size()}));
    line.update(request.body.empty() ? Json{{"body_base64", base64(original.body)}} : request.body);
    return line;
}

}  // namespace

/// As `parked edit`: what comes out goes home, and the original stays until the broker has confirmed that.
admin::DeskOutcome desk_edit(DeskScene& scene) {
    DeskRequest& request = scene.request;
    std::optional<FoundMessage> found;
    {
        ParkedBrowser browser(scene.settings, request.parked, system::wall_now(), scene.stop, scene.progress);
        OneMessage one = find_one(browser, 1);
        if (!one.fault.empty()) return failed_with(one.fault);
        found = std::move(one.found);
    }
    MessageLine edited;
    const std::string problem = edited.read_json(edited_line(request, found->message()));
    if (!problem.empty()) return failed_with("nothing was done: what was sent is no message: " + problem);
    const std::vector<std::string> changed = admin::changed_fields(found->message(), edited.message());
    if (changed.empty() && !request.run.to.empty())
        return failed_with(
            "nothing was done: no field is changed. A replay with `to` sends it to another queue as it is");
    if (changed.empty()) {
        admin::DeskOutcome outcome;
        outcome.ok = true;
        outcome.result = R"({"ok":true,"dry_run":false,"selected":1,"done":0,"changed":[]})";
        return outcome;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(system::wall_now().time_since_epoch());
    const admin::Edit stamp{
        static_cast<std::uint64_t>(seconds.count()), scene.control.by, {changed.begin(), changed.end()}};
    admin::EditScratch scratch;
    const core::Message message = admin::compose_edited(found->message(), edited.message(), stamp, scratch);
    ParkedOptions exactly;
    exactly.from = found->from;
    exactly.exactly = &found->message();
    exactly.despite_delivery_limit = request.parked.despite_delivery_limit;
    ParkedRunOptions run;
    run.first = 1;
    run.to = request.run.to;
    run.per_second = 0;
    run.stop_above.reset();
    const EditedReplay replay{&message, {}};
    ParkedRunScene with = run_scene(scene, false);
    with.edited = &replay;
    return replay_outcome(replay_or_drop(scene.settings, exactly, run, with), &changed);
}

admin::DeskOutcome desk_waiting_list(DeskScene& scene) {
    const WaitingList list = list_waiting(scene.settings, scene.request.waiting);
    if (!list.fault.empty()) return failed_with(list.fault);
    admin::DeskOutcome outcome;
    outcome.ok = true;
    for (const WaitingRung& rung : list.found.rungs)
        outcome.done += rung.messages;
    outcome.result = telemetry::to_safe_json(json_of(list.found));
    return outcome;
}

namespace {

admin::DeskOutcome waiting_outcome(const WaitingReport& report) {
    if (!report.fault.empty()) return failed_with(report.fault);
    admin::DeskOutcome outcome;
    outcome.ok = report.ok();
    outcome.stopped = report.stopped;
    outcome.done = report.done;
    outcome.result = telemetry::to_safe_json(json_of(report));
    return outcome;
}

/// The work queues that a replay sent to, as its run tells; none where they are unknown.
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
    into.stopped = into.stopped || more.stopped;
    if (into.fault.empty()) into.fault = std::move(more.fault);
    into.done += more.done;
    for (WaitingResult& result : more.results)
        into.results.push_back(std::move(result));
    into.notes.merge(more.notes);
    into.not_seen = std::move(more.not_seen);
}

}  // namespace

admin::DeskOutcome desk_send_or_park(DeskScene& scene, bool park) {
    return waiting_outcome(send_or_park(scene.settings, scene.request.waiting, park, scene.stop, scene.progress));
}

/// The header retryd-replays of what waits on a rung tells which run sent it last. Where it is known which work queues
/// the run sent to, only their rungs are looked at.
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
        if (report.stopped || !report.fault.empty()) break;
    }
    return waiting_outcome(report);
}

// ── Hold and release ──

namespace {

/// For the broker's answer: while it is waited for, attempts are spent.
constexpr core::Milliseconds existence_within{3'000};

struct Existence {
    bool missing = false;
    std::string not_asked = {};  // why it is not known; empty where it is
};

/// A broker that does not say it is no reason to spend attempts: then what is asked for is done.
Existence ask_for(const std::string& queue, const config::Settings& settings) {
    config::Broker broker = settings.broker;
    broker.connect_timeout = std::min(broker.connect_timeout, existence_within);
    try {
        amqp::SyncAdminConnection connection(broker, "retryd desk", existence_within);
        const amqp::Declarer::Outcome found = connection.carry_out(amqp::Declarer::CheckQueue{queue});
        return {found.result == amqp::Declarer::Result::missing, found.unanswered ? found.text : ""};
    } catch (const amqp::Error& error) {
        return {false, error.what()};
    }
}

Json json_of(const std::string& queue, const admin::HoldAnswer& answer) {
    Json json{{"ok", true},
              {"queue", queue},
              {"held_queue", answer.held_queue},
              {"state", answer.holding ? "holding" : "releasing"},
              {"messages", answer.messages ? Json(*answer.messages) : Json()},
              {"per_second", answer.holding ? Json() : Json(answer.per_second)},
              {"notes", Json::array({answer.said})}};
    return json;
}

}  // namespace

admin::DeskOutcome desk_hold(DeskScene& scene, bool hold) {
    const std::string& queue = scene.request.work_queue;
    admin::DeskOutcome outcome;
    Existence found;
    // What no entry matches the daemon refuses: the broker is not asked about a name that may be made up.
    if (hold && core::match(scene.settings.policy, queue) != nullptr) found = ask_for(queue, scene.settings);
    if (found.missing) {
        outcome.error = "nothing was done: there is no queue " + core::quoted(queue) +
                        " on the broker, so nothing fails there. See the spelling; the status page has the work queues";
        return outcome;
    }
    const admin::HoldAnswer answer = scene.control.hold(queue, hold);
    outcome.error = answer.refusal;
    if (!answer.refusal.empty()) return outcome;
    Json json = json_of(queue, answer);
    if (!found.not_asked.empty())
        json["notes"].push_back("The broker did not say whether there is such a queue: " + found.not_asked);
    outcome.ok = true;
    outcome.done = static_cast<std::size_t>(answer.messages.value_or(0));
    outcome.result = telemetry::to_safe_json(std::move(json));
    return outcome;
}

}  // namespace retryd::commands
