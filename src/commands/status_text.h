// A status for people.
#pragma once

#include <iosfwd>

#include "commands/status_state.h"

namespace retryd::commands {

/// Aligned text: a table for each ladder, a column for each of its delays; `colour` sets the headings off. Where many
/// queues are quiet they are told in one line.
void print_status(const Status& status, bool colour, std::ostream& out);

}  // namespace retryd::commands
