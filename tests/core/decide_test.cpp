#include "core/decide.h"

#include <limits>

#include "core/duration.h"
#include "support/catch.h"

namespace retryd::core::decide_test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// A ladder of 1 s, 2 s, 3 s …: the delay tells the step.
Entry entry_of(std::size_t steps) {
    Entry entry{"email", {"standard", {}}, {"{queue}.parked"}};
    for (std::size_t i = 1; i <= steps; ++i)
        entry.ladder.steps.push_back(std::chrono::seconds{i});
    return entry;
}

Death death_of(std::string_view reason, std::int64_t count = 1) {
    Death death;
    death.queue = "email";
    death.reason = reason;
    death.count = count;
    return death;
}

RetryHistory carried_of(std::int64_t attempt) {
    RetryHistory carried;
    carried.attempt = attempt;
    return carried;
}

constexpr WallTime now{std::chrono::seconds{1'800'000'000}};

std::string describe(const Decision& decision) {
    if (const auto* retry = std::get_if<Retry>(&decision)) {
        return "attempt " + std::to_string(retry->attempt) + ": wait " + format_duration(retry->delay);
    }
    if (const auto* drop = std::get_if<Drop>(&decision)) return "attempt " + std::to_string(drop->attempt) + ": drop";
    const auto& park = std::get<Park>(decision);
    std::string buffer;
    return "attempt " + std::to_string(park.attempt) + ": park " + std::string{reason_text(park.reason, "…", buffer)};
}

}  // namespace

TEST_CASE("the attempt is what the message carries and what the broker counts, together") {
    for (std::int64_t carried = 0; carried <= 4; ++carried) {
        for (std::int64_t counted = 1; counted <= 4; ++counted)
            CHECK(attempt_of(death_of("rejected", counted), carried_of(carried)) == carried + counted);
    }
}

TEST_CASE("what comes from a detour is at the attempt that it carries, and at least at the first") {
    CHECK(attempt_of(death_of("rejected", 0), carried_of(0)) == 1);
    CHECK(attempt_of(death_of("rejected", 0), carried_of(1)) == 1);
    CHECK(attempt_of(death_of("rejected", 0), carried_of(4)) == 4);
    CHECK(attempt_of(death_of("rejected", 0), carried_of(most)) == most);
}

TEST_CASE("an attempt past the largest number is the largest number") {
    CHECK(attempt_of(death_of("rejected", 1), carried_of(most - 2)) == most - 1);
    CHECK(attempt_of(death_of("rejected", 1), carried_of(most - 1)) == most);
    CHECK(attempt_of(death_of("rejected", 1), carried_of(most)) == most);
    CHECK(attempt_of(death_of("rejected", most), carried_of(0)) == most);
    CHECK(attempt_of(death_of("rejected", most), carried_of(1)) == most);
    CHECK(attempt_of(death_of("rejected", most), carried_of(most)) == most);
}

TEST_CASE("attempt n takes the n-th step of the ladder, and past the last one the message is parked") {
    for (std::size_t steps = 0; steps <= 5; ++steps) {
        const Entry entry = entry_of(steps);
        for (std::int64_t attempt = 1; attempt <= 7; ++attempt) {
            for (std::int64_t carried = 0; carried < attempt; ++carried) {
                const auto decision =
                    decide(death_of("rejected", attempt - carried), carried_of(carried), &entry, now, 0.0);
                const std::string number = std::to_string(attempt);
                const bool retry_schedule = attempt <= static_cast<std::int64_t>(steps);
                CAPTURE(steps, attempt, carried);
                CHECK(describe(decision) ==
                      "attempt " + number + (retry_schedule ? ": wait " + number + "s" : ": park attempts-exhausted"));
            }
        }
    }
}

TEST_CASE("rejected and delivery_limit are retried, every other reason is parked") {
    const Entry entry = entry_of(3);
    const auto outcome = [&](std::string_view reason) {
        return describe(decide(death_of(reason, 2), {}, &entry, now, 0.0));
    };
    CHECK(outcome("rejected") == "attempt 2: wait 2s");
    CHECK(outcome("delivery_limit") == "attempt 2: wait 2s");
    for (const std::string_view reason : {"expired", "maxlen", "something_new", "Rejected", "rejected ", ""}) {
        CAPTURE(reason);
        CHECK(outcome(reason) == "attempt 2: park reason-…");
    }
}

TEST_CASE("a message without a readable death is parked, its attempt unknown") {
    const Entry entry = entry_of(3);
    CHECK(describe(decide(std::nullopt, {}, &entry, now, 0.0)) == "attempt 0: park no-death");
    CHECK(describe(decide(std::nullopt, carried_of(2), nullptr, now, 0.0)) == "attempt 0: park no-death");
}

TEST_CASE("a death in a queue that no entry matches is parked, whatever the reason") {
    for (const std::string_view reason : {"rejected", "delivery_limit", "expired", "maxlen"})
        CHECK(describe(decide(death_of(reason, 2), carried_of(3), nullptr, now, 0.0)) == "attempt 5: park no-entry");
}

TEST_CASE("a reason that parks wins over a ladder that is used up") {
    const Entry entry = entry_of(1);
    CHECK(describe(decide(death_of("expired", 9), {}, &entry, now, 0.0)) == "attempt 9: park reason-…");
}

TEST_CASE("forged numbers park a message, they never make it loop") {
    const Entry entry = entry_of(5);
    const std::string parked = "attempt " + std::to_string(most) + ": park attempts-exhausted";
    CHECK(describe(decide(death_of("rejected", most), carried_of(most), &entry, now, 0.0)) == parked);
    CHECK(describe(decide(death_of("rejected", 1), carried_of(most), &entry, now, 0.0)) == parked);
}

TEST_CASE("round after round the same message goes to the end of its ladder and is parked once") {
    const Entry entry = entry_of(4);
    RetryHistory carried;
    std::string way;
    for (int round = 0; round < 5; ++round) {
        const Decision decision = decide(death_of("rejected"), carried, &entry, now, 0.0);
        way += describe(decision) + "; ";
        if (const auto* retry = std::get_if<Retry>(&decision)) carried.attempt = retry->attempt;
    }
    CHECK(way ==
          "attempt 1: wait 1s; attempt 2: wait 2s; attempt 3: wait 3s; attempt 4: wait 4s; "
          "attempt 5: park attempts-exhausted; ");
}

TEST_CASE("what a death of each reason leads to is the entry's to say") {
    Entry entry = entry_of(2);
    const auto outcome = [&](std::string_view reason) {
        return describe(decide(death_of(reason), {}, &entry, now, 0.0));
    };
    entry.on = {Action::drop, Action::park, Action::retry, Action::drop};
    CHECK(outcome("rejected") == "attempt 1: drop");
    CHECK(outcome("delivery_limit") == "attempt 1: park reason-…");
    CHECK(outcome("expired") == "attempt 1: wait 1s");
    CHECK(outcome("maxlen") == "attempt 1: drop");
    entry.on = {Action::drop, Action::drop, Action::drop, Action::drop};
    CHECK(outcome("tomorrow's reason") == "attempt 1: park reason-…");
}

TEST_CASE("a message whose first death is longer ago than max_age is parked as too old") {
    Entry entry = entry_of(2);
    entry.max_age = std::chrono::hours{24};
    constexpr std::uint64_t today = 1'800'000'000;
    constexpr std::uint64_t day = 24 * 3600;
    const auto outcome = [&](std::uint64_t carried_age, std::optional<std::uint64_t> broker_age) {
        RetryHistory carried;
        carried.first_death = today - carried_age;
        carried.proven = true;
        Death death = death_of("rejected");
        if (broker_age) death.time = today - *broker_age;
        return describe(decide(death, carried, &entry, now, 0.0));
    };
    CHECK(outcome(day, std::nullopt) == "attempt 1: wait 1s");
    CHECK(outcome(day + 1, std::nullopt) == "attempt 1: park too-old");
    CHECK(outcome(day + 3600, 0) == "attempt 1: park too-old");
    CHECK(outcome(0, day + 3600) == "attempt 1: wait 1s");
    Death death = death_of("rejected");
    CHECK(describe(decide(death, {}, &entry, now, 0.0)) == "attempt 1: wait 1s");
    death.time = today - day - 1;
    CHECK(describe(decide(death, {}, &entry, now, 0.0)) == "attempt 1: park too-old");
    entry.max_age.reset();
    CHECK(describe(decide(death, {}, &entry, now, 0.0)) == "attempt 1: wait 1s");
}

TEST_CASE("a forged first death harms nobody: the far future is young, the year 0 is old") {
    Entry entry = entry_of(1);
    entry.max_age = std::chrono::hours{1};
    RetryHistory carried;
    carried.first_death = std::numeric_limits<std::uint64_t>::max();
    CHECK(describe(decide(death_of("rejected"), carried, &entry, now, 0.0)) == "attempt 1: wait 1s");
    carried.first_death = 0;
    CHECK(describe(decide(death_of("rejected"), carried, &entry, now, 0.0)) == "attempt 1: park too-old");
}

TEST_CASE("the used up ladder is the reason, and what the operator says of a death comes first, whatever its age") {
    Entry entry = entry_of(1);
    entry.max_age = std::chrono::hours{1};
    RetryHistory carried;
    carried.first_death = 1;
    CHECK(describe(decide(death_of("rejected", 2), carried, &entry, now, 0.0)) == "attempt 2: park attempts-exhausted");
    entry.on.rejected = Action::drop;
    CHECK(describe(decide(death_of("rejected", 2), carried, &entry, now, 0.0)) == "attempt 2: drop");
}

TEST_CASE("the random number chooses the lane; a ladder without lanes ignores it") {
    Entry entry = entry_of(1);
    const auto delay = [&](double random) {
        return std::get<Retry>(decide(death_of("rejected"), {}, &entry, now, random)).delay.count();
    };
    CHECK(delay(0.0) == 1000);
    CHECK(delay(0.99) == 1000);
    entry.ladder.jitter = {20, 3};
    CHECK(delay(0.0) == 800);
    CHECK(delay(0.33) == 800);
    CHECK(delay(0.34) == 900);
    CHECK(delay(0.67) == 1000);
    CHECK(delay(0.999999) == 1000);
}

TEST_CASE("every lane has its share of the random numbers, and one out of range takes the nearest lane") {
    const Jitter jitter{20, 5};
    CHECK(lane_of(10s, jitter, 0.0) == 8s);
    CHECK(lane_of(10s, jitter, 0.2) == 8500ms);
    CHECK(lane_of(10s, jitter, 0.59) == 9s);
    CHECK(lane_of(10s, jitter, 0.99) == 10s);
    CHECK(lane_of(10s, jitter, 1.0) == 10s);
    CHECK(lane_of(10s, jitter, -1.0) == 8s);
}

TEST_CASE("a parked message says why in the words of the contract") {
    std::string buffer;
    CHECK(reason_text(ParkReason::attempts_exhausted, "rejected", buffer) == "attempts-exhausted");
    CHECK(reason_text(ParkReason::too_old, "rejected", buffer) == "too-old");
    CHECK(reason_text(ParkReason::no_entry, "rejected", buffer) == "no-entry");
    CHECK(reason_text(ParkReason::no_death, "", buffer) == "no-death");
    CHECK(reason_text(ParkReason::queue_gone, "rejected", buffer) == "queue-gone");
    CHECK(reason_text(ParkReason::unpublishable, "rejected", buffer) == "unpublishable");
    CHECK(buffer.empty());
    CHECK(reason_text(ParkReason::death_reason, "expired", buffer) == "reason-expired");
    CHECK(reason_text(ParkReason::death_reason, "maxlen", buffer) == "reason-maxlen");
    CHECK(reason_text(ParkReason::death_reason, "", buffer) == "reason-");
}

// ── While messages are held ────────────────────────────────────────────────────────────────────────────────────────

namespace {

constexpr KnownOutage held{.holding = true};

Decision decide_holding(const Death& death, std::int64_t carried, const KnownOutage& outage) {
    const Entry entry = entry_of(3);
    return decide(death, carried_of(carried), &entry, now, 0, outage);
}

}  // namespace

TEST_CASE("while it holds, a failure does not count, on whatever attempt") {
    for (std::int64_t carried = 0; carried <= 5; ++carried)
        CHECK(decide_holding(death_of("rejected"), carried, held) == Decision{Hold{carried}});
    CHECK(decide_holding(death_of("delivery_limit"), 1, held) == Decision{Hold{1}});
    CHECK(decide_holding(death_of("rejected", 0), 2, held) == Decision{Hold{1}});  // from a detour
}

TEST_CASE("what its queue of held messages did not take waits on a detour, and its death costs nothing") {
    const Entry entry = entry_of(3);
    for (std::int64_t spent = 0; spent <= 4; ++spent) {
        CAPTURE(spent);
        RetryHistory history = carried_of(spent);
        history.was_held = true;
        const Death waiting = death_of("rejected", 0);
        CHECK(decide(waiting, history, &entry, now, 0, held) == Decision{Hold{spent}});
        const std::chrono::seconds next{std::min<std::int64_t>(spent + 1, 3)};
        CHECK(decide(waiting, history, &entry, now, 0) == Decision{Retry{spent, next}});
        CHECK(decide(waiting, history, &entry, now, 0, {.not_yet_known = true}) == Decision{Retry{spent, next}});
        // Home again, and failed anew.
        CHECK(decide(death_of("rejected"), history, &entry, now, 0, held) == Decision{Hold{spent}});
    }
}

TEST_CASE("while it holds, what is parked by the reason of its death is parked") {
    CHECK(decide_holding(death_of("expired"), 0, held) == Decision{Park{ParkReason::death_reason, 1}});
}

TEST_CASE("while it holds, what is too old is held") {
    Entry entry = entry_of(3);
    entry.max_age = 1s;
    Death death = death_of("rejected");
    death.time = 1'700'000'000;
    CHECK(decide(death, {}, &entry, now, 0, held) == Decision{Hold{0}});
    CHECK(decide(death, {}, &entry, now, 0) == Decision{Park{ParkReason::too_old, 1}});
}

TEST_CASE(
    "what has failed first since the outage began has spent nothing; what failed before keeps what it had spent") {
    const KnownOutage since{.holding = true, .since = now};
    Death death = death_of("rejected");
    death.time = 1'800'000'000;
    CHECK(decide_holding(death, 2, since) == Decision{Hold{0}});
    death.time = 1'799'999'000;
    CHECK(decide_holding(death, 2, since) == Decision{Hold{2}});
    death.time.reset();
    CHECK(decide_holding(death, 2, since) == Decision{Hold{2}});
}

TEST_CASE("an outage that is over: what waited on a detour until it was known begins anew, all else is as always") {
    const KnownOutage over{.since = now};
    Death death = death_of("rejected", 0);
    death.time = 1'800'000'000;
    CHECK(decide_holding(death, 4, over) == Decision{Retry{0, 1s}});
    CHECK(decide_holding(death, 2, over) == Decision{Retry{0, 1s}});  // its rung took none
    death.count = 1;
    CHECK(decide_holding(death, 3, over) == Decision{Park{ParkReason::attempts_exhausted, 4}});
    death.count = 0;
    death.time = 1'700'000'000;
    CHECK(decide_holding(death, 4, over) == Decision{Park{ParkReason::attempts_exhausted, 4}});
}

}  // namespace retryd::core::decide_test
