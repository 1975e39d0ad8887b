// The report of `retryd check`, for programs.
#pragma once

#include <iosfwd>
#include <string>

#include "config/problem.h"
#include "config/settings.h"

namespace retryd::commands {

/// One object without credentials, `"ok": true` first; durations both as text and as milliseconds (`…_ms`).
void print_check_json(const config::Settings& settings, const std::string& file, std::ostream& out);

/// One object, `"ok": false` first, and the problems with `line` and `column` (0: the file as a whole).
void print_problems_json(const config::Problems& problems, const std::string& file, std::ostream& out);

}  // namespace retryd::commands
