// `retryd status`: what waits on each rung, what is parked, and what the daemon tells of itself.
#pragma once

#include <iosfwd>

#include "commands/report.h"

namespace retryd::commands {

/// Changes nothing. Returns 0, 1 where the broker cannot be reached, 78 on a wrong configuration. With `json`, `out`
/// has one object in every case.
int status(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Again every two seconds until SIGINT or SIGTERM, and then 0; on a terminal in place. Goes on through losses of the
/// connection, and tells of them; only where it cannot be made at the start it returns 1. With `json` each object has
/// a line of its own.
int watch_status(const ReportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
