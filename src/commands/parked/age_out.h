// `parked_age`: takes out of the parking queues what is older than its entry allows, into the archive or for good.
//
// It looks at the head of each parking queue, for messages lie there in the order in which they were parked, and stops
// at the first one that is young enough. What is not taken out keeps its place.
//
// A look costs a broker much. To keep their order it has to hold all that was given back before (amqp/queue_io.h),
// which is the whole queue once an operator has listed it; and each time RabbitMQ counts for what was held, up to the
// delivery limit of a million. So each parking queue is looked at when its oldest message is due, and more rarely where
// a look takes long, or passes messages that stay however old.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "admin/aged.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::commands {

/// Once, at the parking queues that are due, on connections of its own. `before`: what the last run has left. `go_on`
/// is asked often; where it says no, the run ends in order. Throws amqp::Error.
admin::AgeRun age_out(const config::Settings& settings, const config::Endpoint& endpoint, admin::AgeMemory before,
                      const std::function<bool()>& go_on);

/// When the next look at a parking queue makes sense.
struct AgeLook {
    core::Milliseconds max{};                 // of the entry
    std::optional<core::Milliseconds> until;  // the oldest that is young enough is due; absent: there is none
    std::size_t stay = 0;                     // messages that were passed, and stay however old
    core::Milliseconds took{};
};
core::Milliseconds next_look_after(const AgeLook& look);

/// The name of a parking queue's archive for that day: `email.parked-2026-03-01.ndjson`. No two queues have the same,
/// and whatever stands in a queue's name, it is a file in that folder.
std::string archive_name(std::string_view queue, std::uint64_t seconds);

}  // namespace retryd::commands
