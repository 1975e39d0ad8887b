// What `attach` found and did, for scripts.
#pragma once

#include <iosfwd>

#include "commands/attach_report.h"

namespace retryd::commands {

/// One object; `ok` says whether the command ends with 0.
void print_attach_json(const AttachReport& report, bool ok, std::ostream& out);

}  // namespace retryd::commands
