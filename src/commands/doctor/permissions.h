// `retryd doctor --permissions`: what retryd's user has to be allowed, as commands of rabbitmqctl. Talks to no broker.
#pragma once

#include <iosfwd>

#include "commands/common/report.h"

namespace retryd::commands {

/// Returns 0, or 78 on a wrong configuration. With `json`, `out` has one object in either case.
int needed_permissions(const ReportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
