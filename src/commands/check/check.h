// `retryd check`: reads the configuration and prints what it means, or every problem in it. Talks to no broker.
#pragma once

#include <iosfwd>

#include "commands/common/report.h"

namespace retryd::commands {

/// Returns 0, or 78 where the configuration is wrong: then its problems are on `err`, one a line and their number
/// last. With `json`, `out` has one object in either case, with `ok` and, of a wrong configuration, `problems`.
/// No credentials are printed.
int check(const ReportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
