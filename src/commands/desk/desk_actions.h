// One function for each kind of thing that the desk does.
#pragma once

#include "admin/desk_task.h"
#include "commands/common/progress.h"
#include "commands/desk/desk_request.h"
#include "config/settings.h"

namespace retryd::commands {

/// What all of them need. `request` may be changed.
struct DeskScene {
    const config::Settings& settings;
    DeskRequest& request;
    const admin::DeskControl& control;
    StopSign stop;
    Progress& progress;
};

// All of them throw amqp::Error.
admin::DeskOutcome desk_groups(DeskScene& scene);
admin::DeskOutcome desk_messages(DeskScene& scene);
admin::DeskOutcome desk_show(DeskScene& scene);
admin::DeskOutcome desk_replay_or_drop(DeskScene& scene, bool drop);
admin::DeskOutcome desk_edit(DeskScene& scene);
admin::DeskOutcome desk_waiting_list(DeskScene& scene);
admin::DeskOutcome desk_send_or_park(DeskScene& scene, bool park);
/// What an earlier replay sent, and that waits on rungs after it failed again, is parked again.
admin::DeskOutcome desk_undo(DeskScene& scene);
/// What fails in a work queue is held from now on, or what is held of it is released: the daemon does it, once it is
/// known that there is such a queue.
admin::DeskOutcome desk_hold(DeskScene& scene, bool hold);

}  // namespace retryd::commands
