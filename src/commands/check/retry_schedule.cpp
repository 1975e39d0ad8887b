#include "commands/check/retry_schedule.h"

#include <numeric>
#include <set>

#include "core/names.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

/// The entry's queue; {queue} where it is a glob.
std::string work_queue(const core::Entry& entry) {
    return core::is_glob(entry.match) ? std::string{core::queue_placeholder} : entry.match;
}

std::vector<Lane> lanes(const core::Entry& entry, core::Milliseconds step) {
    std::vector<Lane> found;
    for (const core::Milliseconds delay : core::lanes_of(step, entry.ladder.jitter)) {
        // The lanes of a very short step can have the same delay, and then are one queue.
        if (!found.empty() && found.back().delay == delay) continue;
        found.push_back({delay, core::rung_name_of(entry.ladder, work_queue(entry), delay, false)});
    }
    return found;
}

}  // namespace

std::vector<ScheduleStep> retry_schedule(const core::Entry& entry) {
    std::vector<ScheduleStep> found;
    for (const core::Milliseconds delay : entry.ladder.steps) {
        const std::size_t failure = found.empty() ? 1 : found.back().last + 1;
        if (!found.empty() && found.back().delay == delay) {
            found.back().last = failure;
        } else {
            found.push_back({failure, failure, delay, lanes(entry, delay)});
        }
    }
    return found;
}

std::string parking_queue(const core::Entry& entry) {
    return core::expand_queue(entry.parked.queue, work_queue(entry));
}

core::Milliseconds total_wait(const core::Ladder& ladder) {
    return std::accumulate(ladder.steps.begin(), ladder.steps.end(), core::Milliseconds::zero());
}

core::Milliseconds least_wait(const core::Ladder& ladder) {
    core::Milliseconds total{};
    for (const core::Milliseconds step : ladder.steps)
        total += core::lanes_of(step, ladder.jitter).front();
    return total;
}

QueueCount count_queues(const core::Policy& policy) {
    QueueCount count;
    std::set<std::string> known{policy.error_queue, policy.catch_all};
    for (const core::Milliseconds delay : core::detour_delays)
        known.insert(core::detour_name(delay));
    for (const core::Entry& entry : policy.entries) {
        const bool glob = core::is_glob(entry.match);
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        const std::string parked = parking_queue(entry);
        const bool parked_by_name = glob && parked.find(core::queue_placeholder) != std::string::npos;
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
