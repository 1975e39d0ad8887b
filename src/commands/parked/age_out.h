// `parked_age`: takes out of the parking queues what is older than its entry allows, into the archive or for good.
//
// It looks at the head of each parking queue, for messages lie there in the order in which they were parked, and stops
// at the first one that is young enough. What is not taken out keeps its place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "admin/aged.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::commands {

/// Once, on connections of its own. `go_on` is asked often; where it says no, the run ends in order. Throws
/// amqp::Error.
admin::AgeRun age_out(const config::Settings& settings, const config::Endpoint& endpoint, core::WallTime now,
                      const std::function<bool()>& go_on);

/// The name of a parking queue's archive for that day: `email.parked-2026-03-01.ndjson`. No two queues have the same,
/// and whatever stands in a queue's name, it is a file in that folder.
std::string archive_name(std::string_view queue, std::uint64_t seconds);

}  // namespace retryd::commands
