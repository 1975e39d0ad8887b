// `retryd check`: reads the configuration and prints what it means, or every problem in it. Talks to no broker.
#pragma once

#include <iosfwd>

#include "commands/common/report.h"

namespace retryd::commands {

/// Returns 0, or 78 where the configuration is wrong: then `err` has its problems, one a line, and their number in the
/// last line. With `json`, `out` has one object in either case, with `ok` and, for a wrong configuration, `problems`.
/// No credentials are printed.
int check(const ReportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
