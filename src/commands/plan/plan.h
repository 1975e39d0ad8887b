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

/// The items that were missing before and exist now.
std::vector<core::DesiredItem> declared_by(const Plan& before, const std::vector<amqp::Declarer::Outcome>& outcomes);

}  // namespace retryd::commands
