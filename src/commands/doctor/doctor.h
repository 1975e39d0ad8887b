// `retryd doctor`: every way in which a rejected message would not come back.
#pragma once

#include <iosfwd>

#include "commands/common/report.h"
#include "commands/doctor/run_checks.h"

namespace retryd::commands {

/// Changes nothing. Returns 0 nothing found, 2 something found, 1 the broker or its management API cannot be reached
/// or refused, 78 wrong configuration. With `json`, `out` has one object in every case.
int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Each finding with cause, consequence and remedy; then what could not be seen, and the sums.
void print_checks(const CheckReport& check_report, bool colour, std::ostream& out);

/// One object; `ok` says whether the command ends with 0.
void print_checks_json(const CheckReport& check_report, std::ostream& out);

}  // namespace retryd::commands
