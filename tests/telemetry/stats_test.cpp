// What the flow reports, counted.
#include "telemetry/stats.h"

#include <thread>

#include "support/catch.h"

namespace retryd::telemetry::stats_test {
namespace {

using core::Milliseconds;
using relay::Outcome;
using relay::Settled;
using relay::TargetRole;

Settled retried(std::string_view work_queue, std::string_view target, int seconds, int confirm_ms = 1) {
    return {Outcome::retried,         work_queue,      target, "rejected", Milliseconds{1'000 * seconds},
            Milliseconds{confirm_ms}, TargetRole::rung};
}

Settled parked(std::string_view work_queue, std::string_view target, std::string_view reason) {
    return {Outcome::parked, work_queue, target, reason, {}, Milliseconds{1}, TargetRole::parking};
}

const QueueCounts& of(const Counts& counts, const std::string& work_queue) {
    for (const QueueCounts& queue : counts.queues) {
        if (queue.work_queue == work_queue) return queue;
    }
    throw std::runtime_error("nothing was counted for " + work_queue);
}

std::uint64_t all(const Counts& counts) {
    std::uint64_t sum = 0;
    for (const QueueCounts& queue : counts.queues) {
        for (const Count& count : queue.counts)
            sum += count.messages;
    }
    return sum;
}

}  // namespace

TEST_CASE("stats: messages are counted by work queue, outcome, reason and target") {
    MessageStats stats;
    for (int n = 0; n < 3; ++n)
        stats.settled(retried("email", "email.retry.5s", 5));
    stats.settled(retried("email", "email.retry.30s", 30));
    stats.settled(retried("email", "email.retry.5s", 5));
    stats.settled(parked("email", "email.parked", "attempts-exhausted"));
    stats.settled(retried("webhook", "webhook.retry.5s", 5));
    const Counts counts = stats.counts();
    REQUIRE(counts.queues.size() == 2);
    const auto& email = of(counts, "email").counts;
    REQUIRE(email.size() == 3);
    CHECK(email[0].messages == 4);
    CHECK(email[0].target == "email.retry.5s");
    CHECK(email[0].delay == Milliseconds{5'000});
    CHECK(email[1].messages == 1);
    CHECK(email[2].outcome == Outcome::parked);
    CHECK(email[2].reason == "attempts-exhausted");
    CHECK(of(counts, "webhook").counts.at(0).messages == 1);
}

TEST_CASE("stats: no message is invisible: without a queue, dropped, returned, dead-lettered, stuck") {
    MessageStats stats;
    stats.settled(parked("", "retryd.parked", "no-death"));
    stats.settled({Outcome::dropped, "email", "", "expired", {}, {}, {}});
    stats.settled(
        {Outcome::returned_to_queue, "email", "retryd.return", "undelivered", {}, {}, TargetRole::return_exchange});
    stats.dead_lettered("email", "its headers do not fit");
    stats.stuck("email", "nobody knows", Milliseconds{1});
    stats.requeued({TargetRole::rung, "r"}, relay::RequeueCause::nacked, Milliseconds{1});
    stats.requeued({TargetRole::rung, "r"}, relay::RequeueCause::returned, Milliseconds{1});
    stats.requeued({TargetRole::rung, "r"}, relay::RequeueCause::unanswered, Milliseconds{1});
    stats.requeued({TargetRole::detour, "r"}, relay::RequeueCause::detour_refused, Milliseconds{1});
    stats.requeued({TargetRole::rung, "r"}, relay::RequeueCause::channel_closed, Milliseconds{1});
    const Counts counts = stats.counts();
    CHECK(of(counts, std::string{no_queue}).counts.at(0).reason == "no-death");
    REQUIRE(of(counts, "email").counts.size() == 3);
    CHECK(of(counts, "email").counts[2].outcome == Outcome::parked);
    CHECK(of(counts, "email").counts[2].reason == "dead-lettered");
    CHECK(counts.requeued == std::array<std::uint64_t, 6>{1, 1, 1, 1, 1, 1});
    const Totals totals = stats.totals();
    CHECK(totals.retried == 1);
    CHECK(totals.parked == 2);
    CHECK(totals.dropped == 1);
}

TEST_CASE("stats: forged names are bounded, what is expected keeps its place, and nothing is lost") {
    MessageStats stats;
    stats.expect({"email"});
    for (int n = 0; n < 5'000; ++n) {
        const std::string name = "forged-" + std::to_string(n);
        stats.settled(parked(name, name + ".parked", "queue-gone"));
        stats.settled(retried(name, name + ".retry.5s", 5));
        stats.settled(parked("", "retryd.parked", "no-entry"));
    }
    stats.settled(retried("email", "email.retry.5s", 5));
    const Counts counts = stats.counts();
    CHECK(counts.queues.size() <= most_work_queues + 2);
    CHECK(of(counts, std::string{other_queues}).counts.size() == 2);
    CHECK(of(counts, "email").counts.at(0).messages == 1);
    CHECK(all(counts) == 15'001);
}

TEST_CASE("stats: the time of confirms is a histogram, what was dropped has none") {
    MessageStats stats;
    for (int n = 0; n < 98; ++n)
        stats.settled(retried("email", "r", 5, 2));
    stats.settled(retried("email", "r", 5, 700));
    stats.settled(retried("email", "r", 5, 70'000));
    stats.settled({Outcome::dropped, "email", "", "expired", {}, {}, {}});
    const ConfirmTimes::Histogram times = stats.confirms();
    CHECK(times.messages[1] == 98);
    CHECK(times.messages.back() == 1);
    CHECK(times.sum_ms == 98 * 2 + 700 + 70'000);
    CHECK(quantile(times, 0.5) > 1.0);
    CHECK(quantile(times, 0.5) <= 2.0);
    CHECK(quantile(times, 0.99) == 1'000.0);
    CHECK(quantile(times, 1.0) == 60'000.0);
    CHECK(quantile(times - times, 0.5) == 0.0);
}

TEST_CASE("stats: whoever looks while messages go by sees no more than there were, and at last all of them") {
    MessageStats stats;
    constexpr int messages = 20'000;
    std::thread flow([&] {
        for (int n = 0; n < messages; ++n) {
            const std::string name = "q" + std::to_string(n % 1'500);
            stats.settled(retried(name, name + ".retry.5s", 5));
            stats.in_flight(static_cast<std::size_t>(n));
        }
    });
    std::uint64_t before = 0;
    bool grows = true;
    while (before < messages && grows) {
        const std::uint64_t now = all(stats.counts());
        grows = now >= before && now <= messages;
        before = now;
    }
    flow.join();
    CHECK(grows);
    CHECK(all(stats.counts()) == messages);
    CHECK(stats.counts().in_flight == messages - 1);
}

}  // namespace retryd::telemetry::stats_test
