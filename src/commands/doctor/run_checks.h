// All checks that tell whether a rejected message will really come back. `retryd doctor` makes them once, the daemon
// repeatedly.
#pragma once

#include <string>

#include "admin/finding.h"
#include "commands/common/broker.h"
#include "commands/common/daemon.h"
#include "config/settings.h"

namespace retryd::commands {

/// Asks the broker, its management API and, if `daemon` has an answer, the daemon. What could not be checked is part of
/// the diagnosis. Changes nothing. Throws amqp::Error when the connection is lost.
struct Checked {
    BrokerIdentity broker;
    bool management = false;  // a management API is configured
    std::string fault;        // why the management API did not answer; empty if it did
    /// Notes that are not findings: what was not checked and need not be, with what it would take; and special cases
    /// without a fault.
    std::vector<std::string> notes = {};
    admin::Diagnosis diagnosis;
};
Checked run_checks(Broker& broker, const config::Settings& settings, const DaemonAnswer* daemon);

/// Makes a part of the checks for the daemon, on a connection of its own. Blocks; throws amqp::Error.
admin::Diagnosis check_for_daemon(const config::Settings& settings, const config::Endpoint& endpoint,
                                  admin::CheckScope scope);

}  // namespace retryd::commands
