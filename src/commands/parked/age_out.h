// `parked_age`: takes messages that are older than their entry allows out of the parking queues, and archives or drops
// them.
//
// It reads each parking queue from its head, where the oldest messages are, and stops at the first one that is young
// enough. Messages that are not taken out keep their place.
//
// A look costs the broker much. To keep the order, it has to hold all messages that were given back before
// (amqp/queue_io.h), which is the whole queue once an operator has listed it; and RabbitMQ counts each time as a
// delivery, up to the delivery limit of a million. So a parking queue is looked at when its oldest message is due, and
// less often if a look takes long, or if it passes messages that stay however old they are.
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

/// Makes one pass over the parking queues that are due, on connections of its own. `before`: what the last pass has
/// left. `go_on` is asked often; once it returns false, the pass ends cleanly. Throws amqp::Error.
admin::AgeRun age_out(const config::Settings& settings, const config::Endpoint& endpoint, admin::AgeMemory before,
                      const std::function<bool()>& go_on);

/// Decides when the next look at a parking queue is worthwhile.
struct AgeLook {
    core::Milliseconds max{};                 // the limit of the entry
    std::optional<core::Milliseconds> until;  // until the oldest remaining message is due; absent: there is none
    std::size_t stay = 0;                     // messages that stay however old they are
    core::Milliseconds took{};
};
core::Milliseconds next_look_after(const AgeLook& look);

/// The name of the archive of a parking queue for that day: `email.parked-2026-03-01.ndjson`. Two queues never have the
/// same one, and whatever characters the queue's name has, it is a file in that folder.
std::string archive_name(std::string_view queue, std::uint64_t seconds);

}  // namespace retryd::commands
