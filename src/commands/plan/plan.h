// `retryd plan` and `retryd apply`: compare the broker with the configuration, and declare what is missing.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/report.h"
#include "commands/plan/prune.h"
#include "commands/plan/topology_diff.h"
#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::commands {

/// Changes nothing. Returns 0 if there is nothing to do; 2 if there is; 1 if the broker refused or cannot be reached;
/// 78 for a wrong configuration. With `json`, `out` has one object in every case.
int plan(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Declares what is missing, then prints the plan; with `with_prune` it first deletes empty rungs that are left over.
/// Returns 0 if everything is in place (whatever is left over); 1 if something was refused or the broker cannot be
/// reached; 2 if something is missing that only others can make; 78 for a wrong configuration.
int apply(const ReportOptions& options, bool with_prune, std::ostream& out, std::ostream& err);

/// Declares everything and continues after a refusal. Returns the outcome of each item in the order of
/// core::desired_topology. `progress` is told how many of how many are done. Throws amqp::Error.
using Declared = std::function<void(std::size_t done, std::size_t of)>;
std::vector<amqp::Declarer::Outcome> declare_topology(Broker& broker, const core::Policy& policy,
                                                      const Declared& progress = {});

bool any_refused(const std::vector<amqp::Declarer::Outcome>& outcomes);

/// Adds to the plan that was made afterwards what only declaring shows: that a binding was made, and why something is
/// still missing.
void add_outcomes(Plan& plan, const std::vector<amqp::Declarer::Outcome>& outcomes);

/// Aligned text with the totals in the last line; `colour` makes the headings bold. Many complete ladders and work
/// queues are summed up in one line, unless `all`.
void print_plan(const Plan& plan, bool all, bool colour, std::ostream& out);

/// The items that were missing before and exist now.
std::vector<core::DesiredItem> declared_by(const Plan& before, const std::vector<amqp::Declarer::Outcome>& outcomes);

/// Prints what `apply` declared, and an empty line.
void print_declared(const std::vector<core::DesiredItem>& declared, bool all, bool colour, std::ostream& out);

/// Prints what `apply --prune` did, and an empty line.
void print_pruned(const PruneResult& pruned, bool colour, std::ostream& out);

/// One object without credentials; `ok` comes first and says whether there is nothing to do. `pruned` is null if
/// pruning was not asked for.
void print_plan_json(const Plan& plan, const PruneResult* pruned, bool ok, std::ostream& out);

// `retryd plan --definitions`: everything that the configuration needs, as a file that RabbitMQ imports. For brokers
// where retryd may not declare anything.

/// Asks the broker only for its version and the vhost. The file goes to `out`, and what it cannot contain to `err`.
/// Returns 0; 1 if the broker cannot be reached; 78 for a wrong configuration.
int definitions(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// One object with `exchanges`, `queues` and `bindings`, as `rabbitmqctl import_definitions` takes it.
void print_definitions(const core::Policy& policy, const core::BrokerFeatures& features, const std::string& vhost,
                       std::ostream& out);

/// What is needed besides, one line each: queues that only appear with messages, and what belongs to others.
void print_what_definitions_lack(const core::Policy& policy, const core::BrokerFeatures& features, std::ostream& err);

}  // namespace retryd::commands
