// The values of the file, checked one against another → settings.
#pragma once

#include <optional>

#include "config/load.h"
#include "config/problem.h"
#include "config/written.h"

namespace retryd::config {

/// Where to connect, as whom, over which TLS. Reads the files that the settings name, to see that they can be read.
void settle_broker(const Written& written, const Surroundings& surroundings, Broker& settings, Problems& problems);

/// Nothing where there is no management API to ask. Whoever is not named logs in as at the broker.
std::optional<Management> settle_management(const WrittenManagement& written, const Surroundings& surroundings,
                                            const Broker& broker, Problems& problems);

/// Which queues climb which ladder and park where.
void settle_policy(const Written& written, core::Policy& policy, Problems& problems);

}  // namespace retryd::config
