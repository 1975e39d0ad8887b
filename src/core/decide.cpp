#include "core/decide.h"

#include <chrono>
#include <limits>

#include "core/topology.h"

namespace retryd::core {

namespace {

bool is_too_old(const Death& death, const RetryHistory& carried, const Entry& entry, WallTime now) {
    const auto first = carried.first_death ? carried.first_death : death.time;
    if (!entry.max_age || !first) return false;
    // In seconds, unsigned: a forged stamp can be anything.
    const auto today = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    const auto most = std::chrono::ceil<std::chrono::seconds>(*entry.max_age).count();
    return today > most && *first < static_cast<std::uint64_t>(today - most);
}

}  // namespace

std::int64_t attempt_of(const Death& death, const RetryHistory& carried) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return carried.attempt > most - death.count ? most : carried.attempt + death.count;
}

Decision decide(const std::optional<Death>& death, const RetryHistory& carried, const Entry* entry,
                const Chance& chance) {
    if (!death) return Park{ParkReason::no_death};
    const std::int64_t attempt = attempt_of(*death, carried);
    if (entry == nullptr) return Park{ParkReason::no_entry, attempt};
    switch (action_for(entry->on, death->reason)) {
        case Action::park:
            return Park{ParkReason::death_reason, attempt};
        case Action::drop:
            return Drop{attempt};
        case Action::retry:
            break;
    }
    const auto& steps = entry->ladder.steps;
    if (attempt > static_cast<std::int64_t>(steps.size())) return Park{ParkReason::attempts_exhausted, attempt};
    if (is_too_old(*death, carried, *entry, chance.now)) return Park{ParkReason::too_old, attempt};
    const Milliseconds step = steps[static_cast<std::size_t>(attempt - 1)];
    return Retry{attempt, lane_of(step, entry->ladder.jitter, chance.roll)};
}

std::string_view reason_text(ParkReason reason, std::string_view death_reason, std::string& buffer) {
    switch (reason) {
        case ParkReason::attempts_exhausted:
            return "attempts-exhausted";
        case ParkReason::too_old:
            return "too-old";
        case ParkReason::no_entry:
            return "no-entry";
        case ParkReason::no_death:
            return "no-death";
        case ParkReason::queue_gone:
            return "queue-gone";
        case ParkReason::unpublishable:
            return "unpublishable";
        case ParkReason::death_reason:
            break;
    }
    buffer.assign("reason-").append(death_reason);
    return buffer;
}

}  // namespace retryd::core
