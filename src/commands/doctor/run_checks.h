// Every check that tells whether a rejected message will come back.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "admin/checks.h"
#include "commands/common/broker.h"
#include "commands/common/management.h"

namespace retryd::commands {

struct CheckReport {
    BrokerIdentity broker;
    bool management = false;                // is configured
    std::string fault;                      // why the management API did not answer
    std::vector<admin::Finding> diagnoses;  // the problems first
    std::vector<std::string> not_seen;      // what could not be looked at, and what it takes
};

/// Changes nothing. `records` is null without a management API, whose fault is part of the result. Throws amqp::Error.
CheckReport run_checks(Broker& broker, Records* records, const config::Settings& settings);

std::size_t count_problems(const CheckReport& check_report);

/// 0 nothing found, 2 something, 1 the management API did not say what it was asked.
int doctor_exit_code(const CheckReport& check_report);

}  // namespace retryd::commands
