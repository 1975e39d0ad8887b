// The actions of the desk (desk.h), a function each, and what they share. All of them throw amqp::Error.
#pragma once

#include <cstddef>
#include <string>

#include "admin/desk_task.h"
#include "commands/common/json.h"
#include "commands/common/progress.h"
#include "commands/desk/desk_request.h"
#include "config/settings.h"

namespace retryd::commands {

/// `request` may be changed.
struct DeskScene {
    const config::Settings& settings;
    DeskRequest& request;
    const admin::DeskControl& control;
    StopSign stop;
    Progress& progress;
};

admin::DeskOutcome desk_outcome(Json result, bool ok, std::size_t done);
admin::DeskOutcome desk_failure(const std::string& error);

// desk_look.cpp
admin::DeskOutcome desk_groups(DeskScene& scene);
admin::DeskOutcome desk_messages(DeskScene& scene);
admin::DeskOutcome desk_show(DeskScene& scene);

// desk_replay.cpp
admin::DeskOutcome desk_replay_or_drop(DeskScene& scene, bool drop);
admin::DeskOutcome desk_edit(DeskScene& scene);

// desk_waiting.cpp
admin::DeskOutcome desk_waiting_list(DeskScene& scene);
admin::DeskOutcome desk_send_or_park(DeskScene& scene, bool park);
admin::DeskOutcome desk_undo(DeskScene& scene);

// desk_hold.cpp
admin::DeskOutcome desk_hold(DeskScene& scene, bool hold);

}  // namespace retryd::commands
