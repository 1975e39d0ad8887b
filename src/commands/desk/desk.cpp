#include "commands/desk/desk.h"

#include <cstddef>
#include <string>
#include <utility>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "commands/desk/desk_scene.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

admin::DeskOutcome desk_outcome(Json result, bool ok, std::size_t done) {
    admin::DeskOutcome outcome;
    outcome.ok = ok;
    outcome.done = done;
    outcome.result = telemetry::to_safe_json(std::move(result));
    return outcome;
}

admin::DeskOutcome desk_failure(const std::string& error) {
    admin::DeskOutcome outcome;
    outcome.error = error;
    return outcome;
}

namespace {

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
