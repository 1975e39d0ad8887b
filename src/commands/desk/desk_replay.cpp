// Replay, drop and edit of parked messages.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/edit.h"
#include "commands/common/text.h"
#include "commands/desk/desk_scene.h"
#include "commands/parked/browser.h"
#include "commands/parked/message_line.h"
#include "commands/parked/replay_and_drop.h"
#include "core/message.h"
#include "system/clock.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

namespace {

bool was_interrupted(const ParkedRunReport& report) {
    for (const ParkedQueueResult& queue : report.queues) {
        if (queue.run.end == admin::ParkedRun::End::interrupted) return true;
    }
    return false;
}

/// `changed`: the fields that an edit changed.
admin::DeskOutcome replay_outcome(const ParkedRunReport& report, const std::vector<std::string>* changed = nullptr) {
    if (!report.fault.empty()) return desk_failure(report.fault);
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

/// `expected` guards against messages that came after the operator looked and that they have not agreed to drop.
admin::DeskOutcome desk_replay_or_drop(DeskScene& scene, bool drop) {
    const DeskRequest& request = scene.request;
    ParkedRunScene with = run_scene(scene, drop);
    const auto& expected = request.expected;
    if (expected) with.agreed = [&](const ParkedRunReport& looked) { return looked.meant() == *expected; };
    const ParkedRunReport report = replay_or_drop(scene.settings, request.parked, request.run, with);
    const bool looked = report.overview.fault.empty() && !report.overview.interrupted;
    if (expected && looked && !report.dry_run && report.meant() != *expected)
        return desk_failure("there are now " + counted(report.meant(), "message", "messages") + " of these, not " +
                            std::to_string(*expected) + ": nothing was dropped. Look again, then delete what you see");
    return replay_outcome(report);
}

namespace {

/// The requested message as an exported line, with unchanged parts taken from the original.
Json edited_line(const DeskRequest& request, const core::Message& original) {
    Json line{{"queue", request.parked.from}};
    line["properties"] = request.properties.value_or(json_of_properties(original.properties));
    const std::vector<core::Field> headers = admin::editable_headers(original);
    line["headers"] = request.headers.value_or(exact_json_of(core::Table{headers.data(), headers.size()}));
    line.update(request.body.empty() ? Json{{"body_base64", base64(original.body)}} : request.body);
    return line;
}

}  // namespace

/// As `parked edit`: the edited message goes home, and the original stays until the broker has confirmed that.
admin::DeskOutcome desk_edit(DeskScene& scene) {
    DeskRequest& request = scene.request;
    std::optional<FoundMessage> found;
    {
        ParkingQueuesBrowser browser(scene.settings, request.parked, system::wall_now(), scene.stop, scene.progress);
        OneMessage one = find_one(browser, 1);
        if (!one.fault.empty()) return desk_failure(one.fault);
        found = std::move(one.found);
    }
    MessageLine edited;
    const std::string problem = edited.read_json(edited_line(request, found->message()));
    if (!problem.empty()) return desk_failure("nothing was done: what was sent is no message: " + problem);
    const std::vector<std::string> changed = admin::changed_fields(found->message(), edited.message());
    if (changed.empty() && !request.run.to.empty())
        return desk_failure(
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

}  // namespace retryd::commands
