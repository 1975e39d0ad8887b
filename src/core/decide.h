// The decision: what becomes of a dead message. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/death.h"
#include "core/policy.h"

namespace retryd::core {

// Randomness comes in as an argument, like time.

/// Uniform in [0, 1).
using Dice = std::function<double()>;

/// Wait `delay` on a rung, then go home. With jitter it is the delay of one of the step's lanes.
struct Retry {
    std::int64_t attempt = 1;
    Milliseconds delay{};
    bool operator==(const Retry&) const = default;
};

enum class ParkReason {
    attempts_exhausted,
    too_old,
    death_reason,  // written as `reason-<reason>`
    no_entry,
    no_death,
    queue_gone,
    unpublishable,
};

/// Set aside for a person.
struct Park {
    ParkReason reason = ParkReason::no_death;
    std::int64_t attempt = 0;  // 0 where it cannot be known
    bool operator==(const Park&) const = default;
};

/// Acked and forgotten, because the operator says so for that reason.
struct Drop {
    std::int64_t attempt = 1;
    bool operator==(const Drop&) const = default;
};

using Decision = std::variant<Retry, Park, Drop>;

/// attempt = what the message carries from earlier rounds + what x-death counts for this one. Each half alone fails:
/// x-death starts at 1 after every republish on 4.x, and the carried number knows nothing of deaths without us.
/// It grows by at least 1 with every round, whatever the headers claim, so no message loops for ever.
std::int64_t attempt_of(const Death& death, const RetryHistory& carried);

/// What was decided without the message: the calendar, and one throw of the dice, uniform in [0, 1).
struct Chance {
    WallTime now;
    double roll = 0.0;  // takes the lane of a ladder with jitter
};

/// `death` absent: no readable x-death. `entry` null: no item of `queues:` matches.
/// The first death is the carried one where there is one: the broker's own stamp starts anew with every republish.
Decision decide(const std::optional<Death>& death, const RetryHistory& carried, const Entry* entry,
                const Chance& chance);

/// The text of the header `retryd-parked-reason`, without an allocation for the fixed ones.
/// `buffer` must outlive the result.
std::string_view reason_text(ParkReason reason, std::string_view death_reason, std::string& buffer);

}  // namespace retryd::core
