// What `attach` found and did, for people.
#pragma once

#include <iosfwd>

#include "commands/attach_report.h"

namespace retryd::commands {

/// The commands stand on lines of their own, to be pasted into a shell. The sums are the last line.
void print_attach(const AttachReport& report, bool colour, std::ostream& out);

}  // namespace retryd::commands
