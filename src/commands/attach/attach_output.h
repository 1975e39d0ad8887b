// What `attach` found and did, for people.
#pragma once

#include <iosfwd>

#include "commands/attach/attach.h"

namespace retryd::commands {

/// The commands stand on lines of their own, to be pasted into a shell. The sums are the last line.
void print_attach(const AttachReport& report, bool colour, std::ostream& out);

// What `attach` found and did, for scripts.

/// One object; `ok` says whether the command ends with 0.
void print_attach_json(const AttachReport& report, bool ok, std::ostream& out);

}  // namespace retryd::commands
