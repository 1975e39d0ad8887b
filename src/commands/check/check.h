// `retryd check`: reads the configuration and prints what it means, or every problem in it. With `--schema` it prints
// the JSON Schema, and reads no file. Talks to no broker.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/common/report.h"
#include "config/settings.h"

namespace retryd::commands {

/// Returns 0, or 78 where the configuration is wrong: then `err` has its problems, one a line, and their number in the
/// last line. With `json`, `out` has one object in either case, with `ok` and, for a wrong configuration, `problems`.
/// No credentials are printed.
int check(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Aligned text without credentials: the brokers, where failures arrive, each entry with its schedule, and how many
/// queues that makes. `colour` sets the headings off.
void print_check(const config::Settings& settings, const std::string& file, bool all, bool colour, std::ostream& out);

/// `retryd check --schema`, for editors: a schema of draft 7, made of the description of the keys (config/keys.h). The
/// reader knows more than it can express: what depends on two keys at once, and the bounds of durations and sizes.
void print_schema(std::ostream& out);

}  // namespace retryd::commands
