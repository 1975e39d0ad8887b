// Reads a tree by the description of the keys (keys.h), and finds what is wrong with its keys and values.
#pragma once

#include "config/environment.h"
#include "config/problem.h"
#include "config/raw_config.h"
#include "config/tree.h"

namespace retryd::config {

/// What the file gives, and the default of everything else. Unknown, missing and duplicate keys and wrong values are
/// problems. `environment` fills in ${NAME}.
RawConfig read_keys(const Tree& tree, const Environment& environment, Problems& problems);

}  // namespace retryd::config
