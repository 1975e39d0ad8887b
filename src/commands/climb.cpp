#include "commands/climb.h"

#include <numeric>

#include "core/names.h"

namespace retryd::commands {
namespace {

constexpr const char* any_queue = "{queue}";

}  // namespace

std::vector<Climb> climbs(const core::Entry& entry) {
    const std::string work_queue = core::is_glob(entry.match) ? any_queue : entry.match;
    std::vector<Climb> found;
    for (const core::Milliseconds delay : entry.ladder.steps) {
        const std::size_t failure = found.empty() ? 1 : found.back().last + 1;
        if (!found.empty() && found.back().delay == delay) {
            found.back().last = failure;
        } else {
            found.push_back({failure, failure, delay, core::rung_name(work_queue, delay, false)});
        }
    }
    return found;
}

std::string parked(const core::Entry& entry) {
    return core::expand_queue(entry.parked, core::is_glob(entry.match) ? any_queue : entry.match);
}

core::Milliseconds total_wait(const core::Ladder& ladder) {
    return std::accumulate(ladder.steps.begin(), ladder.steps.end(), core::Milliseconds::zero());
}

}  // namespace retryd::commands
