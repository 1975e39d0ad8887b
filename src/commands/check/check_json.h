// The report of `retryd check` as JSON.
#pragma once

#include <iosfwd>
#include <string>

#include "config/problem.h"
#include "config/settings.h"

namespace retryd::commands {

/// One object without credentials, `"ok": true` first; durations as text and in milliseconds (`…_ms`).
void print_check_json(const config::Settings& settings, const std::string& file, std::ostream& out);

/// One object, `"ok": false` first, and the problems with `line` and `column` (0: the whole file).
void print_problems_json(const config::Problems& problems, const std::string& file, std::ostream& out);

}  // namespace retryd::commands
