// RabbitMQ 4.3's own delayed retry, which README.md compares retryd with: what it delays, and what not.
#include <algorithm>

#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr milliseconds least{300};

/// A quorum queue with `x-delayed-retry-type`; what is rejected from it for good comes to another one.
struct DelayedRetry : Scenario {
    explicit DelayedRetry(const std::string& type)
        : dead(plain_queue("dead")),
          queue(plain_queue("delayed", {{"x-queue-type", longstr("quorum")},
                                        {"x-delayed-retry-type", longstr(type)},
                                        {"x-delayed-retry-min", int32(static_cast<std::int32_t>(least.count()))},
                                        {"x-delayed-retry-max", int32(60'000)},
                                        {"x-dead-letter-exchange", longstr("")},
                                        {"x-dead-letter-routing-key", longstr(dead)}})),
          worker(queue) {
        client.publish("", queue, {.body = "x"});
        last = worker.receive();
    }

    /// How long it took to come again, counted from before the broker can know: never less than the broker waited.
    milliseconds after_reject() {
        const auto begin = Clock::now();
        worker.client.reject(last.tag, true);
        last = worker.receive();
        return since(begin);
    }
    milliseconds after_nack() {
        const auto begin = Clock::now();
        worker.client.nack(last.tag, true);
        last = worker.receive();
        return since(begin);
    }

    std::string dead;
    std::string queue;
    Worker worker;
    Received last;
};

}  // namespace

TEST_CASE("RabbitMQ 4.3's delayed retry: basic.reject with requeue waits longer each time by the same time",
          "[one-version][since-4.3]") {
    DelayedRetry s("all");
    for (int attempt = 1; attempt <= 4; ++attempt)
        CHECK(s.after_reject() >= attempt * least - milliseconds(20));
}

TEST_CASE("RabbitMQ 4.3's delayed retry: basic.nack with requeue is no attempt, and waits no longer each time",
          "[one-version][since-4.3]") {
    DelayedRetry s("all");
    for (int again = 0; again < 3; ++again)
        s.after_nack();
    milliseconds shortest = patience;
    // One that is quick tells: a busy machine makes any of them late.
    for (int again = 0; again < 20 && shortest >= 3 * least; ++again)
        shortest = std::min(shortest, s.after_nack());
    CHECK(shortest < 3 * least);
}

TEST_CASE("RabbitMQ 4.3's delayed retry: what is rejected without requeue is dead-lettered at once",
          "[one-version][since-4.3]") {
    DelayedRetry s("all");
    s.worker.reject(s.last);
    CHECK(s.take(s.dead).body == "x");
    CHECK(s.depth(s.queue) == 0);
}
