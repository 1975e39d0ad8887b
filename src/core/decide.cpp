#include "core/decide.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace retryd::core {
namespace {

bool is_too_old(const Death& death, const RetryHistory& history, const Entry& entry, WallTime now) {
    const auto first = first_death_of(death, history);
    if (!entry.max_age || !first) return false;
    // In seconds, unsigned: a forged stamp can be anything.
    const auto today = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    const auto most = std::chrono::ceil<std::chrono::seconds>(*entry.max_age).count();
    return today > most && *first < static_cast<std::uint64_t>(today - most);
}

/// The shortest that is at least as long, or else the longest.
Milliseconds step_of_at_least(Milliseconds time, const std::vector<Milliseconds>& steps) {
    Milliseconds best = *std::max_element(steps.begin(), steps.end());
    for (const Milliseconds step : steps) {
        if (step >= time && step < best) best = step;
    }
    return best;
}

/// Whether all its deaths are of the outage. The broker's stamps are seconds.
bool failed_only_in(const std::optional<WallTime>& since, const Death& death, const RetryHistory& history) {
    if (!since) return false;
    const auto first = history.first_death ? history.first_death : death.time;
    if (!first) return false;
    const auto began = std::chrono::floor<std::chrono::seconds>(since->time_since_epoch()).count();
    return *first >= static_cast<std::uint64_t>(std::max<std::int64_t>(began - 1, 0));
}

/// `text` as the literal that it equals, or else `otherwise`.
template <std::size_t count>
std::string_view literal_of(std::string_view text, const std::array<std::string_view, count>& known,
                            std::string_view otherwise) {
    const auto* found = std::find(known.begin(), known.end(), text);
    return found == known.end() ? otherwise : *found;
}

}  // namespace

std::int64_t attempt_of(const Death& death, const RetryHistory& history) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const std::int64_t attempt = history.attempt > most - death.count ? most : history.attempt + death.count;
    return std::max<std::int64_t>(attempt, 1);
}

Decision decide(const std::optional<Death>& death, const RetryHistory& history, const Entry* entry, WallTime now,
                double random, const KnownOutage& outage) {
    if (!death) return Park{ParkReason::no_death};
    const std::int64_t attempt = attempt_of(*death, history);
    if (entry == nullptr) return Park{ParkReason::no_entry, attempt};
    switch (action_for(entry->on, death->reason)) {
        case Action::park:
            return Park{ParkReason::death_reason, attempt};
        case Action::drop:
            return Drop{attempt};
        case Action::retry:
            break;
    }
    const bool of_outage = failed_only_in(outage.since, *death, history);
    const bool unspent = is_on_detour_to_held_queue(*death, history);
    if (outage.holding) return Hold{of_outage ? 0 : unspent ? history.attempt : attempt - 1};
    const auto& steps = entry->ladder.steps;
    // It was to be held, and nothing holds any more: it waits for its next try as if it had not failed.
    if (unspent && !steps.empty()) {
        const std::size_t next = std::min(static_cast<std::size_t>(history.attempt), steps.size() - 1);
        return Retry{history.attempt, lane_of(steps[next], entry->ladder.jitter, random)};
    }
    // It waited on a detour, until it was known that it is one or because its rung took none, and that is over
    // meanwhile: it begins anew, as if held.
    if (of_outage && death->count == 0 && !steps.empty())
        return Retry{0, lane_of(steps.front(), entry->ladder.jitter, random)};
    if (attempt > static_cast<std::int64_t>(steps.size())) return Park{ParkReason::attempts_exhausted, attempt};
    if (is_too_old(*death, history, *entry, now)) return Park{ParkReason::too_old, attempt};
    const Milliseconds step = steps[static_cast<std::size_t>(attempt - 1)];
    return Retry{attempt, lane_of(step, entry->ladder.jitter, random)};
}

Decision apply_verdict(const Verdict& verdict, const Decision& decision, std::int64_t attempt, const Ladder& ladder,
                       double random) {
    const auto* const retry = std::get_if<Retry>(&decision);
    const bool of_ladder = spends_an_attempt(decision) || std::holds_alternative<Hold>(decision);
    if (verdict.never && of_ladder) return Park{ParkReason::consumer_verdict, attempt};
    if (!verdict.after || retry == nullptr) return decision;
    return Retry{retry->attempt, lane_of(step_of_at_least(*verdict.after, ladder.steps), ladder.jitter, random)};
}

Action action_for(const OnDeath& on, std::string_view reason) {
    if (reason == "rejected") return on.rejected;
    if (reason == "delivery_limit") return on.delivery_limit;
    if (reason == "expired") return on.expired;
    if (reason == "maxlen") return on.maxlen;
    return Action::park;
}

bool is_on_detour_to_held_queue(const Death& death, const RetryHistory& history) {
    return death.count == 0 && history.was_held;
}

bool spends_an_attempt(const Decision& decision) {
    if (std::holds_alternative<Retry>(decision)) return true;
    const auto* const park = std::get_if<Park>(&decision);
    return park != nullptr && (park->reason == ParkReason::attempts_exhausted || park->reason == ParkReason::too_old);
}

bool is_failure(std::string_view reason) {
    return reason == "rejected" || reason == "delivery_limit";
}

Milliseconds lane_of(Milliseconds step, const Jitter& jitter, double random) {
    const int lane = static_cast<int>(random * jitter.lanes);
    return lane_delay(step, jitter, std::clamp(lane, 0, jitter.lanes - 1));
}

std::string_view reason_text(ParkReason reason, std::string_view death_reason, std::string& buffer) {
    switch (reason) {
        case ParkReason::attempts_exhausted:
            return "attempts-exhausted";
        case ParkReason::too_old:
            return "too-old";
        case ParkReason::consumer_verdict:
            return "consumer-verdict";
        case ParkReason::no_entry:
            return "no-entry";
        case ParkReason::no_death:
            return "no-death";
        // Not from decide(): what the broker says of the work queue and the rung, heard by the relay (relay/relay.cpp:
        // Relay::process, Relay::retry and Relay::send_home_from_rung).
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

std::string_view reason_label(std::string_view death_reason) {
    constexpr std::array<std::string_view, 4> known{"rejected", "expired", "maxlen", "delivery_limit"};
    return literal_of(death_reason, known, "other");
}

std::string_view reason_label(ParkReason reason, std::string_view death_reason) {
    constexpr std::array<std::string_view, 4> known{"reason-rejected", "reason-expired", "reason-maxlen",
                                                    "reason-delivery_limit"};
    std::string text;
    const std::string_view full = reason_text(reason, death_reason, text);
    return reason == ParkReason::death_reason ? literal_of(full, known, "reason-other") : full;
}

}  // namespace retryd::core
