// A plan for programs.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/plan_state.h"
#include "commands/prune.h"

namespace retryd::commands {

/// One object without credentials, `ok` first: whether nothing is to be done. `pruned` null: nothing was to be pruned.
void print_plan_json(const Plan& plan, const Pruned* pruned, bool ok, std::ostream& out);

}  // namespace retryd::commands
