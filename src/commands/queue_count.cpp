#include "commands/queue_count.h"

#include <set>

#include "commands/climb.h"
#include "core/names.h"
#include "core/topology.h"

namespace retryd::commands {

QueueCount count_queues(const core::Policy& policy) {
    QueueCount count;
    std::set<std::string> known{policy.error_queue, policy.catch_all};
    for (const core::Entry& entry : policy.entries) {
        const bool glob = core::is_glob(entry.match);
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        const std::string parked = parking_queue(entry);
        const bool parked_by_name = glob && parked.find("{queue}") != std::string::npos;
        const auto delays = core::distinct_delays(entry.ladder);
        if (shared || !glob) {
            for (const core::Milliseconds delay : delays)
                known.insert(core::rung_name_of(entry.ladder, entry.match, delay, false));
        }
        if (!parked.empty() && !parked_by_name) known.insert(parked);
        const std::size_t per_match = (glob && !shared ? delays.size() : 0) + (parked_by_name ? 1 : 0);
        if (per_match > 0) count.per_match.push_back({entry.match, per_match});
    }
    count.fixed = known.size();
    return count;
}

}  // namespace retryd::commands
