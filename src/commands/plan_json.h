// A plan for programs.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/plan_state.h"
#include "commands/prune.h"

namespace retryd::commands {

/// One object without credentials, `ok` first: whether nothing is to be done. `pruned` null: nothing was to be pruned.
void print_plan_json(const Plan& plan, const Pruned* pruned, bool ok, std::ostream& out);

/// Where there is no plan: `"ok": false` and the reason.
void print_failure_json(const std::string& error, std::ostream& out);

}  // namespace retryd::commands
