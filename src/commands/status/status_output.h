// A status for people.
#pragma once

#include <iosfwd>

#include "commands/status/collect.h"

namespace retryd::commands {

/// Aligned text: a table for each ladder, a column for each of its delays; `colour` sets the headings off. Where many
/// queues are quiet they are told in one line.
void print_status(const Status& status, bool colour, std::ostream& out);

// A status for programs.

/// One object, `"ok": true` first; `messages` is null where the queue is not there. On one line where `one_line`.
void print_status_json(const Status& status, bool one_line, std::ostream& out);

}  // namespace retryd::commands
