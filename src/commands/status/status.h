// `retryd status`: what waits on each rung, what is parked, and what the daemon tells of itself.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "commands/common/report.h"
#include "commands/status/collect.h"
#include "core/time.h"

namespace retryd::commands {

/// Changes nothing. Returns 0, 1 where the broker cannot be reached, 78 on a wrong configuration. With `json`, `out`
/// has one object in every case.
int status(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Again every two seconds until SIGINT or SIGTERM, and then 0; on a terminal in place. Goes on through losses of the
/// connection, and tells of them; only where it cannot be made at the start it returns 1. With `json` each object has
/// a line of its own.
int watch_status(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Messages a second over the last minute, or over the whole series where that is shorter. `series`: messages in each
/// interval, the oldest first.
double per_second(const std::vector<std::uint64_t>& series, core::Milliseconds interval);

/// Aligned text: a table for each ladder, a column for each of its delays; `colour` sets the headings off. Where many
/// queues are quiet they are told in one line.
void print_status(const StatusReport& status, bool colour, std::ostream& out);

/// One object, `"ok": true` first; `messages` is null where the queue is not there. On one line where `one_line`.
void print_status_json(const StatusReport& status, bool one_line, std::ostream& out);

}  // namespace retryd::commands
