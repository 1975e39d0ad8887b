#include "core/decide.h"

#include <limits>

namespace retryd::core {

std::int64_t attempt_of(const Death& death, const Carried& carried) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return carried.attempt > most - death.count ? most : carried.attempt + death.count;
}

Decision decide(const std::optional<Death>& death, const Carried& carried, const Entry* entry) {
    if (!death) return Park{ParkReason::no_death};
    const std::int64_t attempt = attempt_of(*death, carried);
    if (entry == nullptr) return Park{ParkReason::no_entry, attempt};
    if (death->reason != "rejected" && death->reason != "delivery_limit") {
        return Park{ParkReason::death_reason, attempt};
    }
    const auto& steps = entry->ladder.steps;
    if (attempt > static_cast<std::int64_t>(steps.size())) return Park{ParkReason::attempts_exhausted, attempt};
    return Retry{attempt, steps[static_cast<std::size_t>(attempt - 1)]};
}

std::string_view reason_text(ParkReason reason, std::string_view death_reason, std::string& buffer) {
    switch (reason) {
        case ParkReason::attempts_exhausted:
            return "attempts-exhausted";
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
