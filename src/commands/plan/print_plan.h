// How `retryd plan` and `retryd apply` print what they found and did.
#pragma once

#include <iosfwd>
#include <vector>

#include "commands/plan/prune.h"
#include "commands/plan/topology_diff.h"
#include "core/topology.h"

namespace retryd::commands {

/// Aligned text with the totals in the last line; `colour` makes the headings bold. Many complete ladders and work
/// queues are summed up in one line, unless `all`.
void print_plan(const Plan& plan, bool all, bool colour, std::ostream& out);

/// Prints what `apply` declared, and an empty line.
void print_declared(const std::vector<core::DesiredItem>& declared, bool all, bool colour, std::ostream& out);

/// Prints what `apply --prune` did, and an empty line.
void print_pruned(const PruneResult& pruned, bool colour, std::ostream& out);

/// One object without credentials; `ok` comes first and says whether there is nothing to do. `pruned` is null if
/// pruning was not asked for.
void print_plan_json(const Plan& plan, const PruneResult* pruned, bool ok, std::ostream& out);

}  // namespace retryd::commands
