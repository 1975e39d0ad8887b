// `retryd plan --definitions`: everything that the configuration needs, as a file that RabbitMQ imports. For brokers
// where retryd may not declare anything.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/common/report.h"
#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::commands {

/// Asks the broker only for its version and the vhost. The file goes to `out`, and what it cannot contain to `err`.
/// Returns 0; 1 if the broker cannot be reached; 78 for a wrong configuration.
int definitions(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// One object with `exchanges`, `queues` and `bindings`, as `rabbitmqctl import_definitions` takes it.
void print_definitions(const core::Policy& policy, const core::BrokerFeatures& features, const std::string& vhost,
                       std::ostream& out);

/// What is needed besides, one line each: queues that only appear with messages, and what belongs to others.
void print_what_definitions_lack(const core::Policy& policy, const core::BrokerFeatures& features, std::ostream& err);

}  // namespace retryd::commands
