// `retryd run`: the daemon, in the foreground.
#pragma once

#include <string>

namespace retryd::daemon {

/// Returns the exit code: 0 after a stop by SIGTERM or SIGINT, 78 on a wrong configuration (its problems are on
/// standard error), 1 if it could not listen where `http:` says, or could not stop in time.
int run(const std::string& config_path);

}  // namespace retryd::daemon
