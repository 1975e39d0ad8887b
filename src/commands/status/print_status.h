// The report of `retryd status`, as text and as JSON.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "commands/status/collect_status.h"
#include "core/time.h"

namespace retryd::commands {

/// Messages a second over the last minute, or over the whole series if that is shorter. `series`: messages in each
/// interval, the oldest first.
double per_second(const std::vector<std::uint64_t>& series, core::Milliseconds interval);

/// Aligned text: a table for each ladder with a column for each of its delays; `colour` makes the headings bold. If
/// many queues have nothing to show, they are summed up in one line.
void print_status(const StatusReport& status, bool colour, std::ostream& out);

/// One object, `"ok": true` first; `messages` is null if the queue does not exist, and also, with `"unknown": true`, if
/// nobody knows how many there are. On a single line if `one_line`.
void print_status_json(const StatusReport& status, bool one_line, std::ostream& out);

}  // namespace retryd::commands
