// Every check that tells whether a rejected message will really come back. `retryd doctor` makes them once, the daemon
// again and again.
#pragma once

#include <string>

#include "admin/finding.h"
#include "commands/common/broker.h"
#include "commands/common/daemon.h"
#include "config/settings.h"

namespace retryd::commands {

/// Asks the broker, its management API and, where `daemon` has its answer, the daemon. What could not be looked at is
/// part of the diagnosis. Changes nothing. Throws amqp::Error when the connection is lost.
struct Checked {
    BrokerIdentity broker;
    bool management = false;  // is configured
    std::string fault;        // why the management API did not answer
    /// What a person may want to know, and that changes nothing about what was found: what was not looked at and need
    /// not be, with what that takes; what nothing is wrong with.
    std::vector<std::string> notes = {};
    admin::Diagnosis diagnosis;
};
Checked run_checks(Broker& broker, const config::Settings& settings, const DaemonAnswer* daemon);

/// A part of them, for the daemon, on a connection of its own. Blocks; throws amqp::Error.
admin::Diagnosis check_for_daemon(const config::Settings& settings, const config::Endpoint& endpoint,
                                  admin::CheckScope scope);

}  // namespace retryd::commands
