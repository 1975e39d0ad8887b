// `retryd doctor`: everything on the broker that would keep a rejected message from coming back, and the permissions
// that retryd's user needs.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/common/report.h"
#include "commands/doctor/run_checks.h"

namespace retryd::commands {

/// Changes nothing. Returns doctor_exit_code(), 1 where the broker cannot be reached, 78 on a wrong configuration. With
/// `json`, `out` has one object in every case.
int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// `--permissions`: prints the rabbitmqctl commands that set them; talks to no broker. Returns 0, or 78 on a wrong
/// configuration. With `json`, `out` has one object in either case.
int print_needed_permissions(const ReportOptions& options, std::ostream& out, std::ostream& err);

// What `doctor` found, and how it prints it.

/// 2 a problem was found; else 1 something could not be looked at; else 2 a warning, 0 nothing was found.
int doctor_exit_code(const Checked& checked);

/// The commands of the remedies that are retryd's own, with the configuration that this one has, where that is not the
/// usual one.
void name_configuration(std::vector<admin::Finding>& findings, const std::string& path);

/// Each finding with cause, consequence and remedy; then what could not be checked, and the sums. Of a finding with
/// many names some are told, with `all` all of them.
void print_doctor(const Checked& checked, bool all, bool colour, std::ostream& out);

/// One object; `ok` says whether the command ends with 0.
void print_doctor_json(const Checked& checked, std::ostream& out);

}  // namespace retryd::commands
