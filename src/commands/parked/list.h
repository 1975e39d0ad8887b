// `retryd parked list`: what is parked and why, in one look.
#pragma once

#include <iosfwd>

#include "commands/parked/browser.h"

namespace retryd::commands {

/// Takes nothing out of any queue. Returns 0; 1 where something could not be looked at, or the broker cannot be
/// reached; 78 wrong configuration.
int parked_list(const ParkedOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
