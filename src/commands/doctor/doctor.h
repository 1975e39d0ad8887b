// `retryd doctor`: finds everything on the broker that would keep a rejected message from coming back, and checks
// retryd's permissions.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/common/report.h"
#include "commands/doctor/run_checks.h"

namespace retryd::commands {

/// Changes nothing. Returns doctor_exit_code(); 1 if the broker cannot be reached; 78 for a wrong configuration. With
/// `json`, `out` has one object in every case.
int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// `--permissions`: prints the rabbitmqctl commands that set the permissions; talks to no broker. Returns 0, or 78 for
/// a wrong configuration. With `json`, `out` has one object in either case.
int print_needed_permissions(const ReportOptions& options, std::ostream& out, std::ostream& err);

// The findings of `doctor`, and how they are printed.

/// 2 if a problem was found; otherwise 1 if something could not be checked; otherwise 2 for a warning; 0 if nothing was
/// found.
int doctor_exit_code(const Checked& checked);

/// Adds the option for the configuration file to the retryd commands in the remedies, if it is not the usual file.
void name_configuration(std::vector<admin::Finding>& findings, const std::string& path);

/// Each finding with cause, consequence and remedy, then what could not be checked, and the totals. A finding with many
/// names shows some of them, or all if `all`.
void print_doctor(const Checked& checked, bool all, bool colour, std::ostream& out);

/// One object; `ok` says whether the exit code is 0.
void print_doctor_json(const Checked& checked, std::ostream& out);

}  // namespace retryd::commands
