// `retryd attach`: the policies that make the work queues dead-letter to the error exchange.
#pragma once

#include <iosfwd>

#include "commands/attach_report.h"
#include "commands/policy_board.h"
#include "commands/report.h"
#include "core/policy.h"

namespace retryd::commands {

/// Prints them as commands of rabbitmqctl, each with its undo; with `apply` sets
/// them. Without a management API it can
/// only print a general one. Returns 0 printed, or all attached; 1 the management API refused or cannot be reached, or
/// nothing was set since the error exchange is not ready; 2 applied, but a queue is left that no policy can attach; 78
/// wrong configuration. With `json`, `out` has one object in every case.
int attach(const ReportOptions& options, bool apply, std::ostream& out, std::ostream& err);

/// Looks, and with `apply` sets what is to be set and looks again. A fault or a refusal is part of the report.
AttachReport look_and_attach(PolicyBoard& board, const core::Policy& policy, bool apply);

}  // namespace retryd::commands
