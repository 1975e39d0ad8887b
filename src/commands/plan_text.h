// A plan for people.
#pragma once

#include <iosfwd>

#include "commands/plan_state.h"
#include "commands/prune.h"

namespace retryd::commands {

/// Aligned text, the sums in its last line; `colour` sets the headings off.
void print_plan(const Plan& plan, bool colour, std::ostream& out);

/// What `apply --prune` did, and an empty line.
void print_pruned(const Pruned& pruned, bool colour, std::ostream& out);

}  // namespace retryd::commands
