// A status for programs.
#pragma once

#include <iosfwd>

#include "commands/status_state.h"

namespace retryd::commands {

/// One object, `"ok": true` first; `messages` is null where the queue is not there. On one line where `one_line`.
void print_status_json(const Status& status, bool one_line, std::ostream& out);

}  // namespace retryd::commands
