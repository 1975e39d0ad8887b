// `retryd plan` and `retryd apply`: what is on the broker against what the configuration wants there.
#pragma once

#include <iosfwd>

#include "commands/report.h"

namespace retryd::commands {

/// Changes nothing. Returns 0 nothing to do, 2 something to do, 1 the broker refused or cannot be reached, 78 wrong
/// configuration. With `json`, `out` has one object in every case.
int plan(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Declares what is missing, then prints the plan; `with_prune`: it deletes before that what is left over and empty.
/// Returns 0 all that is wanted is in place (whatever is left over), 1 something was refused or the broker cannot be
/// reached, 2 something is missing that only others can make, 78 wrong configuration.
int apply(const ReportOptions& options, bool with_prune, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
