// The decision: what becomes of a dead message.
//
// Pure: time and randomness are arguments, so that the same arguments always lead to the same decision.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/death.h"
#include "core/policy.h"
#include "core/verdict.h"

namespace retryd::core {

/// Returns a random number, uniform in [0, 1).
using Random = std::function<double()>;

/// Wait `delay` on a rung, then return. With jitter it is the delay of one of the step's lanes.
struct Retry {
    std::int64_t attempt = 1;
    Milliseconds delay{};
    bool operator==(const Retry&) const = default;
};

enum class ParkReason {
    attempts_exhausted,
    too_old,
    death_reason,      // `on:` parks this reason of death (by default expired and maxlen), or it is one that we do not
                       // know; written as `reason-<reason>`
    consumer_verdict,  // the consumer says that it is never to be tried again
    no_entry,
    no_death,
    queue_gone,     // this and the next are found in relay/relay.cpp, which asks the broker
    unpublishable,  // what it needs on the broker is refused
};

/// Parked for a person.
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

/// Held until the outage is over: this death does not count.
struct Hold {
    std::int64_t attempt = 0;  // spent before it
    bool operator==(const Hold&) const = default;
};

using Decision = std::variant<Retry, Park, Drop, Hold>;

/// What is known of an outage of one work queue when a message of it is decided.
struct KnownOutage {
    bool holding = false;                // what fails is held
    bool suspected = false;              // there may be one: nothing is given up for good
    bool not_yet_known = false;          // whether an earlier run was holding: no attempt is spent
    std::optional<WallTime> since = {};  // its first failure; what failed first after that has spent no attempt
    bool operator==(const KnownOutage&) const = default;
};

/// The attempt of the history + the deaths that x-death counts since. Each half alone fails: x-death starts at 1 after
/// every republish on 4.x, and the history knows nothing of deaths without us.
/// At least 1. It grows with every death, whatever the headers claim, so no message loops for ever.
std::int64_t attempt_of(const Death& death, const RetryHistory& history);

/// `death` is absent if there is no readable x-death, `entry` is null if no item of `queues:` matches.
/// `random`, uniform in [0, 1), takes the lane of a ladder with jitter.
/// max_age counts from the first death in the history, if there is one, since the broker's own stamp starts anew with
/// every republish. While `outage.holding`, what would be retried is held, and so is what has used up its ladder or is
/// too old: an outage costs no message an attempt.
Decision decide(const std::optional<Death>& death, const RetryHistory& history, const Entry* entry, WallTime now,
                double random, const KnownOutage& outage = {});

/// The decision about a death in a queue of this entry, once the consumer has been heard. What is never to be tried
/// again is parked instead of being retried, held, or parked for another reason of its ladder; not where `on:` parks or
/// drops it. A time takes the shortest rung that is at least as long, or else the longest; the attempt counts all the
/// same.
Decision apply_verdict(const Verdict& verdict, const Decision& decision, std::int64_t attempt, const Ladder& ladder,
                       double random);

/// What the operator wants for a reason of death. One that this version does not know leads to parking.
Action action_for(const OnDeath& on, std::string_view reason);

/// Whether the message comes from a detour that it took because the queue of held messages (`{queue}.held`) took none
/// (compose_held): its history has not counted the death, which costs nothing.
bool is_on_detour_to_held_queue(const Death& death, const RetryHistory& history);

/// Whether it brings the message nearer to the end of its ladder, or to the parking queue for being late.
bool spends_an_attempt(const Decision& decision);

/// Whether a death of that reason is a failure of the consumer's, and not of the queue's limits.
bool is_failure(std::string_view reason);

/// One of the lanes of a step; `random` is uniform in [0, 1).
Milliseconds lane_of(Milliseconds step, const Jitter& jitter, double random);

/// The text of the header `retryd-parked-reason`, without an allocation for the fixed ones.
/// `buffer` must outlive the result.
std::string_view reason_text(ParkReason reason, std::string_view death_reason, std::string& buffer);

/// The same reasons for reports and metrics, as literals that live as long as the program: a reason of death, or the
/// text of `retryd-parked-reason`. All that this version does not know become one (`other`, `reason-other`), so that
/// forged ones cannot multiply.
std::string_view reason_label(std::string_view death_reason);
std::string_view reason_label(ParkReason reason, std::string_view death_reason);

}  // namespace retryd::core
