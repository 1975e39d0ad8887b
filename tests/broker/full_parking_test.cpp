// Policies that reach retryd's own parking queues: no message runs round and round, none loses its story.
#include <string>

#include "support/catch.h"
#include "support/forged.h"
#include "support/management.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A queue of an earlier build, which throws out what is too much.
Table without_overflow(Scenario& s) {
    Table arguments{{"x-queue-type", longstr("quorum")}};
    if (version_of(s.client) >= Version{4, 0}) arguments.push_back({"x-delivery-limit", int32(-1)});
    return arguments;
}

/// Whether the queue takes a message more.
bool takes_one(const std::string& queue) {
    Client producer(broker_address());
    try {
        producer.publish("", queue, {.body = "one more"});
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

TEST_CASE("a parking queue that a policy limits refuses what comes, and throws out nothing that is parked",
          "[two-versions][since-3.10]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    const auto use_up = [&](int messages) {
        for (int i = 0; i < messages; ++i)
            s.client.send(s.config.error_exchange, "",
                          {.body = std::to_string(i), .headers = {{"x-death", array({death_entry(work, "expired")})}}});
        s.client.await_confirms();
    };
    use_up(20);
    REQUIRE(s.await_depth(Scenario::parking_of(work), 20));
    set_policy("small", "^" + Scenario::parking_of(work) + "$", R"({"max-length": 5})");
    // It is in effect a moment later: until then the queue takes what comes.
    std::uint32_t parked = 20;
    REQUIRE(await([&] { return !takes_one(Scenario::parking_of(work)) || (++parked, false); }));
    use_up(10);
    CHECK(s.await_depth(s.config.catch_all, 10));
    CHECK(s.depth(Scenario::parking_of(work)) == parked);
    clear_policy("small");
    s.stop();
}

TEST_CASE("a policy that makes all queues small and dead-letter to the error exchange does not make messages run hot",
          "[two-versions]") {
    Scenario s;
    s.client.declare_queue(s.config.catch_all, without_overflow(s));
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
    // Each was parked at first, which is logged once it is confirmed: that may be after it is seen there.
    REQUIRE(await([&] { return s.daemon.lines_with({"parked a message"}) >= messages; }));
    const int lines = s.daemon.lines_with({"parked a message"});
    CHECK_FALSE(await([&] { return s.daemon.lines_with({"parked a message"}) > lines + 5; }, milliseconds(1'000)));
    clear_policy("small");
    s.stop();
}

TEST_CASE("a parked message that somebody rejects keeps its story, and can be sent back to its work queue",
          "[two-versions]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    s.client.send(
        s.config.error_exchange, "",
        {.body = "story",
         .headers = proven(died_in(work, {{"retryd-queue", longstr(work)}, {"retryd-attempt", int64(1)}}), s.config)});
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
