// What the desk of the daemon does with parked and waiting messages: the same as the command line, asked for as JSON
// and answered as `--json` prints it. And the hold of a work queue, which is the daemon's own.
#pragma once

#include <string>

#include "admin/desk_task.h"
#include "config/settings.h"

namespace retryd::commands {

/// `action`: parked groups, messages, show, replay, drop, edit, undo; waiting list, send, park; queue hold, release.
/// Does not block.
admin::DeskTask read_desk_task(const std::string& action, const std::string& body);

/// On connections of its own. What goes wrong with the broker is part of the outcome.
admin::DeskOutcome carry_out_desk_task(const config::Settings& settings, const config::Endpoint& endpoint,
                                       const admin::DeskTask& task, const admin::DeskControl& control);

}  // namespace retryd::commands
