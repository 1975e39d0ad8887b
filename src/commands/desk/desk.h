// The actions of the daemon's desk on parked and waiting messages: the same as on the command line, requested as JSON
// and answered as `--json` prints it. Holding a work queue is the daemon's own.
#pragma once

#include <string>

#include "admin/desk_task.h"
#include "config/settings.h"

namespace retryd::commands {

/// `action`: parked groups, messages, show, replay, drop, edit, undo; waiting list, send, park; queue hold, release.
/// Does not block.
admin::DeskTask read_desk_task(const std::string& action, const std::string& body);

/// Uses connections of its own. A fault of the broker is part of the outcome.
admin::DeskOutcome carry_out_desk_task(const config::Settings& settings, const config::Endpoint& endpoint,
                                       const admin::DeskTask& task, const admin::DeskControl& control);

}  // namespace retryd::commands
