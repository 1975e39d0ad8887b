// A short mark of what a policy publishes to, by which two daemons can be seen to agree.
#pragma once

#include <string>

#include "core/policy.h"

namespace retryd::core {

/// 16 hexadecimal digits, the same for policies that lead every message to the same place.
std::string fingerprint(const Policy& policy);

/// The consumer tag by which the management API shows which configuration a daemon runs: `retryd-{fingerprint}`.
std::string consumer_tag(const Policy& policy);

}  // namespace retryd::core
