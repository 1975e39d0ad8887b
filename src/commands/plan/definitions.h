// `retryd plan --definitions`: what a configuration wants on a broker, as a file that RabbitMQ imports. For brokers
// where retryd may declare nothing.
#pragma once

#include <iosfwd>

#include "commands/common/report.h"
#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::commands {

/// Asks the broker for its version and the vhost, nothing else. The file goes to `out`; what it cannot have goes to
/// `err`. Returns 0, 1 the broker cannot be reached, 78 wrong configuration.
int definitions(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// One object with `exchanges`, `queues` and `bindings`, as `rabbitmqctl import_definitions` takes it.
void print_definitions(const core::Policy& policy, const core::BrokerFeatures& features, const std::string& vhost,
                       std::ostream& out);

/// What is to be there beside it, a line each: what only appears with messages, and what is foreign.
void print_what_definitions_lack(const core::Policy& policy, const core::BrokerFeatures& features, std::ostream& err);

}  // namespace retryd::commands
