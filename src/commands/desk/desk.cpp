#include "commands/desk/desk.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/desk_task.h"
#include "admin/edit.h"
#include "admin/replay.h"
#include "amqp/declarer.h"
#include "amqp/error.h"
#include "amqp/refusal.h"
#include "amqp/sync_admin.h"
#include "commands/common/progress.h"
#include "commands/common/text.h"
#include "commands/desk/desk_request.h"
#include "commands/parked/browser.h"
#include "commands/parked/list_and_show.h"
#include "commands/parked/message_line.h"
#include "commands/parked/value_view.h"
#include "config/settings.h"
#include "core/compose.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/safe_text.h"
#include "core/text.h"
#include "core/verdict.h"
#include "system/clock.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

namespace {

/// What the functions below need. There is one for each action of the desk, and all of them throw amqp::Error.
/// `request` may be changed.
struct DeskScene {
    const config::Settings& settings;
    DeskRequest& request;
    const admin::DeskControl& control;
    StopSign stop;
    Progress& progress;
};

// ── What only looks: groups, messages, one message ──────────────────────────────────────────────────────────────────

admin::DeskOutcome outcome_of(Json result, bool ok, std::size_t done) {
    admin::DeskOutcome outcome;
    outcome.ok = ok;
    outcome.done = done;
    outcome.result = telemetry::to_safe_json(std::move(result));
    return outcome;
}

admin::DeskOutcome failure_of(const std::string& error) {
    admin::DeskOutcome outcome;
    outcome.error = error;
    return outcome;
}

Json time_of(const std::optional<std::uint64_t>& seconds) {
    return seconds ? Json(utc(*seconds)) : Json();
}

/// Whether the text of a group, used as a selection, selects exactly this group: it was not cut and is not a glob.
bool selects_itself(const Json& group, const char* key) {
    constexpr std::size_t shortened_at = 60;
    if (!group.contains(key)) return false;
    const auto& text = group.at(key).get_ref<const std::string&>();
    return !text.empty() && text.size() < shortened_at && !core::is_glob(text);
}

void put_selections(Json& queue) {
    for (Json& group : queue["groups"]) {
        const bool both = selects_itself(group, "work_queue") && selects_itself(group, "reason");
        group["select"] =
            both ? Json{{"from", queue["queue"]}, {"queue", group["work_queue"]}, {"reason", group["reason"]}} : Json();
    }
}

/// Adds the selections to the groups of ValueGroups, where an option can select the group.
void put_selections_by(const std::string& by, Json& queue) {
    for (Json& group : queue["groups"]) {
        group["select"] = Json();
        if (!group.contains("selected_by") || group["selected_by"].is_null() || !group.contains("value")) continue;
        Json select{{"from", queue["queue"]}};
        const bool word = by == "reason" || by == "queue" || by == "exchange" || by == "type";
        if (word) {
            select[by] = group["value"];
        } else {
            select["headers"] = Json::array({Json{{"name", by}, {"value", group["value"]}}});
        }
        group["select"] = std::move(select);
    }
}

admin::DeskOutcome desk_groups(DeskScene& scene) {
    const std::string& by = scene.request.by;
    ParkingQueuesBrowser browser(scene.settings, scene.request.parked, system::wall_now(), scene.stop, scene.progress);
    std::map<std::string, ValueGroups> groups;  // by parking queue
    std::size_t last = 0;
    const ParkedOverview overview =
        browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t number) {
            if (by.empty()) return true;
            if (number <= last) groups[from] = {};  // the look at this queue has started over
            last = number;
            const core::Message& message = delivery.message;
            const auto parked = admin::read_parked(message.properties.header_table(), scene.settings.policy.error_queue,
                                                   browser.proof_keys());
            groups[from].add(value_by(by, parked, message), parked, message);
            return true;
        });
    if (!overview.fault.empty()) return failure_of(overview.fault);
    Json queues = json_of(overview);
    for (Json& queue : queues) {
        if (by.empty()) {
            put_selections(queue);
            continue;
        }
        const auto found = groups.find(queue["queue"].get<std::string>());
        const bool any = found != groups.end() && queue["selected"].get<std::size_t>() > 0;
        queue["groups"] = any ? json_of_groups(by, found->second) : Json::array();
        put_selections_by(by, queue);
    }
    return outcome_of({{"ok", overview.complete()},
                       {"selected", overview.selected()},
                       {"queues", std::move(queues)},
                       {"not_seen", overview.notes}},
                      overview.complete(), overview.selected());
}

void put_facts(Json& object, const std::string& from, const core::Message& message, const admin::Parked& parked) {
    put_text(object, "parking_queue", from);
    put_text(object, "work_queue", parked.queue);
    put_text(object, "reason", parked.reason);
    object["parked_at"] = time_of(parked.at);
    object["attempts"] = parked.attempts;
    put_text(object, "exchange", admin::exchange_of(parked));
    put_text(object, "routing_key",
             parked.carried.routing_key.value_or(parked.death ? parked.death->routing_key : std::string_view{}));
    put_text(object, "type", message.properties.type.value_or(std::string_view{}));
    put_text(object, "message_id", message.properties.message_id.value_or(std::string_view{}));
    object["bytes"] = message.body.size();
}

Json line_of(const std::string& from, const core::Message& message, const admin::Parked& parked, std::size_t number) {
    Json object{{"number", number}, {"handle", handle_of(message)}};
    put_facts(object, from, message, parked);
    object["replayed_before"] = !admin::newest_replay_id(message.properties.header_table()).empty();
    return object;
}

/// Ends once the page is full and one more message was seen.
admin::DeskOutcome desk_messages(DeskScene& scene) {
    const DeskRequest& request = scene.request;
    ParkingQueuesBrowser browser(scene.settings, request.parked, system::wall_now(), scene.stop, scene.progress);
    std::map<std::size_t, Json> page;  // by number
    bool more = false;
    const ParkedOverview overview =
        browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t number) {
            page.erase(page.lower_bound(number), page.end());  // the look has started over
            more = number > request.after + request.limit;
            if (more || number <= request.after) return !more;
            const core::Message& message = delivery.message;
            const auto parked = admin::read_parked(message.properties.header_table(), scene.settings.policy.error_queue,
                                                   browser.proof_keys());
            page.emplace(number, line_of(from, message, parked, number));
            return true;
        });
    if (!overview.fault.empty()) return failure_of(overview.fault);
    Json messages = Json::array();
    for (auto& [number, line] : page)
        messages.push_back(std::move(line));
    const std::size_t shown = messages.size();
    Json queues = json_of(overview);
    for (Json& queue : queues)
        put_selections(queue);
    return outcome_of({{"ok", overview.complete()},
                       {"selected", overview.selected()},
                       {"more", more},
                       {"messages", std::move(messages)},
                       {"queues", std::move(queues)},
                       {"not_seen", overview.notes}},
                      overview.complete(), shown);
}

void put_field(Json& object, const char* key, const core::Table& entry, std::string_view name) {
    put_text(object, key, core::text_of(core::find(entry, name)).value_or(std::string_view{}));
}

/// The deaths in x-death, the newest first. A client may have forged them and put anything there.
Json deaths_of(const core::Table& headers) {
    constexpr std::size_t most = 100;
    Json list = Json::array();
    for (const core::Value& value : core::array_of(core::find(headers, "x-death")).value_or(core::Array{})) {
        const auto entry = core::table_of(&value);
        if (!entry || list.size() == most) break;
        Json death;
        put_field(death, "queue", *entry, "queue");
        put_field(death, "reason", *entry, "reason");
        put_field(death, "exchange", *entry, "exchange");
        put_field(death, "original_expiration", *entry, "original-expiration");
        const auto count = core::integer_of(core::find(*entry, "count"));
        death["count"] = count ? Json(*count) : Json();
        const core::Value* const time = core::find(*entry, "time");
        const auto* const seconds = time == nullptr ? nullptr : std::get_if<std::uint64_t>(&time->data);
        death["time"] = seconds == nullptr ? Json() : Json(utc(*seconds));
        death["routing_keys"] = Json::array();
        for (const core::Value& key : core::array_of(core::find(*entry, "routing-keys")).value_or(core::Array{})) {
            const auto text = core::text_of(&key);
            if (text) death["routing_keys"].push_back(std::string{*text});
        }
        list.push_back(std::move(death));
    }
    return list;
}

Json replays_of(const core::Table& headers) {
    Json list = Json::array();
    for (const admin::Replay& replay : admin::read_replays(headers)) {
        Json object{{"time", utc(replay.time)}};
        put_text(object, "run", replay.id);
        put_text(object, "from", replay.from);
        put_text(object, "to", replay.to);
        put_text(object, "parked_reason", replay.parked_reason);
        object["attempts"] = replay.attempts;
        list.push_back(std::move(object));
    }
    return list;
}

Json edits_of(const core::Table& headers) {
    Json list = Json::array();
    for (const admin::Edit& edit : admin::read_edits(headers)) {
        Json object{{"time", utc(edit.time)}};
        put_text(object, "by", edit.by);
        object["fields"] = Json::array();
        for (const std::string_view field : edit.fields)
            object["fields"].push_back(std::string{field});
        list.push_back(std::move(object));
    }
    return list;
}

void put_story(Json& object, const core::Table& headers, const admin::Parked& parked) {
    object["proven"] = parked.by_retryd;
    put_text(object, "last_death_reason", parked.death_reason);
    object["first_death"] = time_of(parked.carried.first_death);
    put_text(object, "verdict_reason",
             core::text_of(core::find(headers, core::verdict_header::retry_reason)).value_or(std::string_view{}));
    object["deaths"] = deaths_of(headers);
    object["replays"] = replays_of(headers);
    object["edits"] = edits_of(headers);
}

admin::DeskOutcome desk_show(DeskScene& scene) {
    ParkingQueuesBrowser browser(scene.settings, scene.request.parked, system::wall_now(), scene.stop, scene.progress);
    const OneMessage one = find_one(browser, 1);
    if (!one.fault.empty()) return failure_of(one.fault);
    const core::Message& message = one.found->message();
    const core::Table headers = message.properties.header_table();
    const auto parked = admin::read_parked(headers, scene.settings.policy.error_queue, browser.proof_keys());
    Json object{{"ok", true}, {"handle", scene.request.message}};
    put_facts(object, one.found->from, message, parked);
    put_story(object, headers, parked);
    object["properties"] = json_of_properties(message.properties);
    object["headers"] = exact_json_of(headers);
    const std::vector<core::Field> editable = admin::editable_headers(message);
    object["editable_headers"] = exact_json_of(core::Table{editable.data(), editable.size()});
    const std::string_view body = message.body.substr(0, scene.request.body_limit);
    object["body_base64"] = base64(body);
    object["body_cut"] = body.size() < message.body.size();
    object["body_is_utf8"] = core::valid_utf8_length(message.body) == message.body.size();
    return outcome_of(std::move(object), true, 1);
}

// ── What changes something ──────────────────────────────────────────────────────────────────────────────────────────
//
// Replay, drop, edit; messages that wait on rungs; and the hold of a work queue, which the daemon does
// (admin::DeskControl::hold) after this file has asked whether that queue exists.

bool was_interrupted(const ParkedRunReport& report) {
    for (const ParkedQueueResult& queue : report.queues) {
        if (queue.run.end == admin::ParkedRun::End::interrupted) return true;
    }
    return false;
}

/// `changed`: the fields that an edit changed.
admin::DeskOutcome replay_outcome(const ParkedRunReport& report, const std::vector<std::string>* changed = nullptr) {
    if (!report.fault.empty()) return failure_of(report.fault);
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

/// `expected` guards against messages that came after the operator looked and that they have not agreed to drop.
admin::DeskOutcome desk_replay_or_drop(DeskScene& scene, bool drop) {
    const DeskRequest& request = scene.request;
    ParkedRunScene with = run_scene(scene, drop);
    const auto& expected = request.expected;
    if (expected) with.agreed = [&](const ParkedRunReport& looked) { return looked.meant() == *expected; };
    const ParkedRunReport report = replay_or_drop(scene.settings, request.parked, request.run, with);
    const bool looked = report.overview.fault.empty() && !report.overview.interrupted;
    if (expected && looked && !report.dry_run && report.meant() != *expected)
        return failure_of("there are now " + counted(report.meant(), "message", "messages") + " of these, not " +
                          std::to_string(*expected) + ": nothing was dropped. Look again, then delete what you see");
    return replay_outcome(report);
}

/// The requested message as an exported line, with unchanged parts taken from the original.
Json edited_line(const DeskRequest& request, const core::Message& original) {
    Json line{{"queue", request.parked.from}};
    line["properties"] = request.properties.value_or(json_of_properties(original.properties));
    const std::vector<core::Field> headers = admin::editable_headers(original);
    line["headers"] = request.headers.value_or(exact_json_of(core::Table{headers.data(), headers.size()}));
    line.update(request.body.empty() ? Json{{"body_base64", base64(original.body)}} : request.body);
    return line;
}

/// As `parked edit`: the edited message goes home, and the original stays until the broker has confirmed that.
admin::DeskOutcome desk_edit(DeskScene& scene) {
    DeskRequest& request = scene.request;
    std::optional<FoundMessage> found;
    {
        ParkingQueuesBrowser browser(scene.settings, request.parked, system::wall_now(), scene.stop, scene.progress);
        OneMessage one = find_one(browser, 1);
        if (!one.fault.empty()) return failure_of(one.fault);
        found = std::move(one.found);
    }
    MessageLine edited;
    const std::string problem = edited.read_json(edited_line(request, found->message()));
    if (!problem.empty()) return failure_of("nothing was done: what was sent is no message: " + problem);
    const std::vector<std::string> changed = admin::changed_fields(found->message(), edited.message());
    if (changed.empty() && !request.run.to.empty())
        return failure_of(
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
    if (!list.fault.empty()) return failure_of(list.fault);
    admin::DeskOutcome outcome;
    outcome.ok = true;
    for (const WaitingRung& rung : list.found.rungs)
        outcome.done += rung.messages;
    outcome.result = telemetry::to_safe_json(json_of(list.found));
    return outcome;
}

admin::DeskOutcome waiting_outcome(const WaitingReport& report) {
    if (!report.fault.empty()) return failure_of(report.fault);
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
    for (WaitingResult& result : more.results)
        into.results.push_back(std::move(result));
    into.notes.merge(more.notes);
    into.not_seen = std::move(more.not_seen);
}

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

// ── Hold and release ────────────────────────────────────────────────────────────────────────────────────────────────

/// How long to wait for the broker's answer: meanwhile attempts are being spent.
constexpr core::Milliseconds existence_within{3'000};

struct Existence {
    bool missing = false;
    std::string not_asked = {};  // why it is unknown; empty if known
};

/// If the broker does not say whether the queue exists, the hold goes ahead rather than spend attempts.
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

/// Holds the failures of a work queue from now on, or releases its held messages: the daemon does it, once it is known
/// that the queue exists.
admin::DeskOutcome desk_hold(DeskScene& scene, bool hold) {
    const std::string& queue = scene.request.work_queue;
    admin::DeskOutcome outcome;
    Existence found;
    // The daemon refuses a name that no entry matches, so the broker is not asked about it: it may be made up.
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

// ── What was asked for ──────────────────────────────────────────────────────────────────────────────────────────────

class ReportedProgress : public Progress {
  public:
    explicit ReportedProgress(const admin::DeskControl& control) : control_(control) {}

    void begin(const std::string& queue, const std::string& doing, std::size_t all) override {
        shown_ = {doing, queue, 0, all, ""};
        control_.report(shown_);
    }
    void show(std::size_t done, const std::string& note) override {
        if (done == shown_.done && note == shown_.note) return;
        shown_.done = done;
        shown_.note = note;
        control_.report(shown_);
    }
    void end() override {}

  private:
    const admin::DeskControl& control_;
    admin::DeskProgress shown_;
};

bool is_change(const std::string& action) {
    return action == "parked replay" || action == "parked drop" || action == "parked edit" || action == "parked undo" ||
           action == "waiting send" || action == "waiting park" || action == "queue hold" || action == "queue release";
}

admin::DeskOutcome carry_out_action(const std::string& action, DeskScene& scene) {
    if (action == "parked groups") return desk_groups(scene);
    if (action == "parked messages") return desk_messages(scene);
    if (action == "parked show") return desk_show(scene);
    if (action == "parked replay") return desk_replay_or_drop(scene, false);
    if (action == "parked drop") return desk_replay_or_drop(scene, true);
    if (action == "parked edit") return desk_edit(scene);
    if (action == "parked undo") return desk_undo(scene);
    if (action == "waiting list") return desk_waiting_list(scene);
    if (action == "queue hold" || action == "queue release") return desk_hold(scene, action == "queue hold");
    return desk_send_or_park(scene, action == "waiting park");
}

}  // namespace

admin::DeskTask read_desk_task(const std::string& action, const std::string& body) {
    using Place = admin::DeskTask::Place;
    const DeskRequest request = read_request(action, body);
    const bool waits = action.starts_with("waiting") || action == "parked undo";
    const bool holds = action == "queue hold" || action == "queue release";
    const bool dry = request.run.dry_run || request.waiting.dry_run;
    admin::DeskTask task;
    task.action = action;
    task.body = body;
    task.shown = telemetry::to_safe_json(request.shown);
    task.audited = telemetry::to_safe_json(request.audited);
    task.changes = is_change(action) && !dry;
    task.queue = holds ? request.work_queue : waits ? request.waiting.from : request.parked.from;
    task.place = holds ? Place::holding : waits ? Place::waiting : Place::parking;
    task.fault = request.fault;
    task.fault_code = request.fault.empty() ? "" : request.fault_code;
    return task;
}

admin::DeskOutcome carry_out_desk_task(const config::Settings& settings, const config::Endpoint& endpoint,
                                       const admin::DeskTask& task, const admin::DeskControl& control) {
    config::Settings here = settings;
    here.broker.endpoints = {endpoint};
    DeskRequest request = read_request(task.action, task.body);
    ChosenMessages chosen(request.handles);
    if (!request.handles.empty()) request.parked.among = &chosen;
    ReportedProgress progress(control);
    DeskScene scene{here, request, control, {[&control] { return !control.go_on(); }, -1}, progress};
    admin::DeskOutcome outcome;
    try {
        outcome = carry_out_action(task.action, scene);
    } catch (const amqp::Error& error) {
        outcome.error = std::string{error.what()} + "; " + amqp::remedy(error.kind());
    }
    outcome.stopped = outcome.stopped || !control.go_on();
    outcome.ok = outcome.ok && outcome.error.empty();
    return outcome;
}

}  // namespace retryd::commands
