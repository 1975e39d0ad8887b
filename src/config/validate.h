// Checks the values of a configuration against each other, and makes the settings of them.
//
// A single value has been checked when it was read (scalars.h). What needs a second value is checked here: files that
// must exist, keys that exclude each other, ladders that entries name, queues that would be two things at once.
#pragma once

#include "config/environment.h"
#include "config/problem.h"
#include "config/raw_config.h"
#include "config/settings.h"

namespace retryd::config {

/// The settings; of use only if `problems` is empty afterwards. `problems` holds what has been found while reading:
/// nothing is added that merely follows from it. Reads the files that the configuration names.
Settings validate(RawConfig raw, const FileEnvironment& env, Problems& problems);

}  // namespace retryd::config
