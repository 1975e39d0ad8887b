// `retryd plan` and `retryd apply`: what is on the broker against what the configuration wants there.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/report.h"
#include "commands/plan/prune.h"
#include "commands/plan/topology_diff.h"
#include "core/policy.h"

namespace retryd::commands {

/// Changes nothing. Returns 0 nothing to do, 2 something to do, 1 the broker refused or cannot be reached, 78 wrong
/// configuration. With `json`, `out` has one object in every case.
int plan(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Declares what is missing, then prints the plan; `with_prune`: it deletes before that what is left over and empty.
/// Returns 0 all that is wanted is in place (whatever is left over), 1 something was refused or the broker cannot be
/// reached, 2 something is missing that only others can make, 78 wrong configuration.
int apply(const ReportOptions& options, bool with_prune, std::ostream& out, std::ostream& err);

/// Goes on after a refusal. What became of each item, in the order of core::desired_topology. Throws amqp::Error.
/// `progress`: how many of how many are done.
using Declared = std::function<void(std::size_t done, std::size_t of)>;
std::vector<amqp::Declarer::Outcome> declare_topology(Broker& broker, const core::Policy& policy,
                                                      const Declared& progress = {});

bool any_refused(const std::vector<amqp::Declarer::Outcome>& outcomes);

/// Puts into the plan that was made afterwards what declaring told and looking cannot: that a binding was made, and why
/// something is still not there.
void add_outcomes(Plan& plan, const std::vector<amqp::Declarer::Outcome>& outcomes);

/// Aligned text, the sums in its last line; `colour` sets the headings off. Where many ladders and work queues have all
/// that they need they are told in one line, unless `all`.
void print_plan(const Plan& plan, bool all, bool colour, std::ostream& out);

/// What was missing before and is there now.
std::vector<core::DesiredItem> declared_by(const Plan& before, const std::vector<amqp::Declarer::Outcome>& outcomes);

/// What `apply` declared, and an empty line.
void print_declared(const std::vector<core::DesiredItem>& declared, bool all, bool colour, std::ostream& out);

/// What `apply --prune` did, and an empty line.
void print_pruned(const PruneResult& pruned, bool colour, std::ostream& out);

/// One object without credentials, `ok` first: whether nothing is to be done. `pruned` is null where nothing was to be
/// pruned.
void print_plan_json(const Plan& plan, const PruneResult* pruned, bool ok, std::ostream& out);

}  // namespace retryd::commands
