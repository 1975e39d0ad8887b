// `retryd run`: the daemon, in the foreground.
#pragma once

#include <string>

#include "daemon/checks.h"
#include "daemon/desk_actions.h"
#include "daemon/parked_age.h"

namespace retryd::daemon {

/// Returns the exit code: 0 after SIGTERM or SIGINT, 78 for a wrong configuration (its problems are on standard error),
/// 1 if it could not listen on the address in `http:`, or could not stop in time. `check` is called now and then if a
/// management API is configured, `age_out` if an entry has `parked_age`, `desk` if there is `http.admin`.
int run(const std::string& config_path, const Check& check, const AgeOut& age_out, const DeskActions& desk);

}  // namespace retryd::daemon
