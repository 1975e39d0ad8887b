// `retryd doctor`: everything on the broker that would keep a rejected message from coming back, and the permissions
// that retryd's user needs.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "admin/checks.h"
#include "commands/common/broker.h"
#include "commands/common/report.h"

namespace retryd::commands {

/// Changes nothing. Returns 0 nothing found, 2 something found, 1 the broker or its management API cannot be reached
/// or refused, 78 wrong configuration. With `json`, `out` has one object in every case.
int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// `--permissions`: prints the rabbitmqctl commands that set them; talks to no broker. Returns 0, or 78 on a wrong
/// configuration. With `json`, `out` has one object in either case.
int print_needed_permissions(const ReportOptions& options, std::ostream& out, std::ostream& err);

// What `doctor` found, and how it prints it.

struct DoctorReport {
    BrokerIdentity broker;
    bool management = false;               // is configured
    std::string fault;                     // why the management API did not answer
    std::vector<admin::Finding> findings;  // the problems first
    std::vector<std::string> not_seen;     // what could not be checked, and what it takes
};

/// Changes nothing. A fault of the management API is part of the report. Throws amqp::Error.
DoctorReport run_checks(Broker& broker, const config::Settings& settings);

/// 0 nothing found, 2 something, 1 the management API did not answer everything it was asked.
int doctor_exit_code(const DoctorReport& report);

/// Each finding with cause, consequence and remedy; then what could not be checked, and the sums.
void print_doctor(const DoctorReport& report, bool colour, std::ostream& out);

/// One object; `ok` says whether the command ends with 0.
void print_doctor_json(const DoctorReport& report, std::ostream& out);

}  // namespace retryd::commands
