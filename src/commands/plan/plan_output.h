// A plan for people.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/plan/prune.h"
#include "commands/plan/topology_diff.h"

namespace retryd::commands {

/// Aligned text, the sums in its last line; `colour` sets the headings off.
void print_plan(const Plan& plan, bool colour, std::ostream& out);

/// What `apply --prune` did, and an empty line.
void print_pruned(const Pruned& pruned, bool colour, std::ostream& out);

// A plan for programs.

/// One object without credentials, `ok` first: whether nothing is to be done. `pruned` null: nothing was to be pruned.
void print_plan_json(const Plan& plan, const Pruned* pruned, bool ok, std::ostream& out);

}  // namespace retryd::commands
