// Policies that reach retryd's own parking queues: no message runs round and round, none loses its story.
#include <string>

#include "support/catch.h"
#include "support/forged.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("a policy that makes all queues small and dead-letter to the error exchange does not make messages run hot") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    set_policy("small", "^" + s.config.catch_all + "$",
               R"({"max-length": 5, "dead-letter-exchange": ")" + s.config.error_exchange + R"("})");
    constexpr int messages = 13;
    for (int i = 0; i < messages; ++i)
        s.client.send("", s.config.error_queue, {.body = std::to_string(i)});  // without a death: for the catch-all
    s.client.await_confirms();
    CHECK(await([&] { return s.depth("retryd.detour.5m") + s.depth(s.config.catch_all) == messages; }));
    const int lines = s.daemon.lines_with({"parked a message"});
    CHECK_FALSE(await([&] { return s.daemon.lines_with({"parked a message"}) > lines + 5; }, milliseconds(1'000)));
    clear_policy("small");
    s.stop();
}

TEST_CASE("a parked message that somebody rejects keeps its story, and can be sent back to its work queue") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    s.client.send(
        s.config.error_exchange, "",
        {.body = "story", .headers = died_in(work, {{"retryd-queue", longstr(work)}, {"retryd-attempt", int64(1)}})});
    s.client.await_confirms();
    REQUIRE(s.await_depth(Scenario::parking_of(work), 1));
    set_policy("ours-too", "^" + Scenario::parking_of(work) + "$",
               R"({"dead-letter-exchange": ")" + s.config.error_exchange + R"("})");
    {
        Worker person(Scenario::parking_of(work));
        person.reject(person.receive());
    }
    const Received again = s.take(s.config.catch_all);
    CHECK(text_header(again, "retryd-queue") == work);
    CHECK(text_header(again, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(long_header(again, "retryd-attempt") == 2);
    clear_policy("ours-too");
    s.stop();
}
