// No message holds back another: neither one on a long rung those on a short one, nor one with a priority those
// without.
#include <algorithm>

#include "support/catch.h"
#include "support/machine.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("messages that wait on a long first rung never delay one on a shorter rung", "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"5m", "100ms"});
    s.start();
    Worker worker(work);
    for (int i = 0; i < 200; ++i)
        s.client.send("", work, {.body = "long"});
    s.client.await_confirms();
    for (int i = 0; i < 200; ++i)
        worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.rung(work, "5m"), 200));

    const Table second_attempt{{"retryd-queue", longstr(work)}, {"retryd-attempt", int64(1)}};
    s.client.publish("", work, {.body = "short", .headers = proven(second_attempt, s.config)});
    const Received message = worker.receive();
    const Machine machine;
    const Clock::time_point rejected = Clock::now();
    worker.reject(message);
    const Received back = worker.receive();
    CHECK(back.body == "short");
    CHECK(since(rejected) < seconds(5) + machine.slack());  // far less than the 5 min of those before it
    CHECK(s.depth(s.rung(work, "5m")) == 200);
}

TEST_CASE("a stream of failures with priority 9 never holds back those without priority", "[3.8][two-versions]") {
    constexpr int normals = 200;
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"300ms"});
    s.start();
    Worker worker(work, 500);
    for (int i = 0; i < normals; ++i)
        s.client.send("", work, {.body = "normal"});
    s.client.await_confirms();

    // As long as the stream goes on, nothing behind it would come back.
    const Clock::time_point start = Clock::now();
    int returned = 0;
    while (returned < normals && since(start) < patience) {
        s.client.publish("", work, {.body = "urgent", .properties = {.priority = 9}});
        while (const auto message = worker.client.next(milliseconds(20))) {
            const bool back = find(message->headers, "retryd-attempt") != nullptr;
            if (message->body == "normal" && back) {
                ++returned;
                worker.ack(*message);
            } else {
                worker.reject(*message);
            }
        }
    }
    CHECK(returned == normals);
    const Version version = version_of(s.client);
    const bool needs_its_own = version >= Version{4, 0} && version < Version{4, 3};
    const std::string high = s.rung(work, "300ms") + ".high";
    // It is declared beside what goes on: the first urgent ones may take the detour until it is there.
    if (needs_its_own) REQUIRE(await([&] { return s.exists(high); }));
    CHECK(s.exists(high) == needs_its_own);
}
