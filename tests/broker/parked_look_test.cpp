// `retryd parked list` and `show`: what is parked is seen, and looking changes nothing.
#include "support/catch.h"
#include "support/management.h"
#include "support/parked_scene.h"

using namespace retryd::test;

namespace {

bool has_default_delivery_limit(Scenario& s) {
    return version_of(s.client) >= Version{4, 0};
}

}  // namespace

TEST_CASE("parked list: by work queue, reason and age", "[one-version]") {
    ParkedScene s;
    s.park(9);
    s.park_one("late", {}, "too-old");
    const CommandResult result = s.parked("list");
    CHECK(result.code == 0);
    CHECK(result.says({s.parking, "10 messages"}));
    CHECK(result.says({s.work, "attempts-exhausted", " 9 ", " 1h"}));
    CHECK(result.says({s.work, "too-old", " 1 "}));
    const CommandResult json = s.parked("list --json --reason too-old");
    CHECK(json.says({"\"selected\": 1,"}));
    CHECK(json.says({"\"reason\": \"too-old\""}));
    CHECK_FALSE(json.says({"\"reason\": \"attempts-exhausted\""}));
}

TEST_CASE("parked list with nothing parked says so and is content", "[one-version]") {
    ParkedScene s;
    const CommandResult result = s.parked("list");
    CHECK(result.code == 0);
    CHECK(result.says({"Nothing is parked"}));
}

TEST_CASE("parked list of a queue that is not there fails and says so", "[one-version]") {
    ParkedScene s;
    const CommandResult result = s.parked("list --from " + s.queue_name("none"));
    CHECK(result.code == 1);
    CHECK(result.err.find("does not exist") != std::string::npos);
}

TEST_CASE("parked list names the parking queues of a glob only where it can see them", "[one-version]") {
    ParkedScene s;
    s.retry("webhook.*", {"100ms"});
    const CommandResult blind = s.parked("list");
    CHECK(blind.code == 0);
    CHECK(blind.says({"Not seen", "webhook.*.parked", "--from QUEUE"}));
    s.config.management_url = management_url();
    // A busy management API may not answer at once.
    CHECK(await([&] { return !s.parked("list").says({"Not seen"}); }));
}

TEST_CASE("parked show: one message, its story, its headers, its body", "[one-version]") {
    ParkedScene s;
    s.park_one("first");
    s.park_one(R"({"b":1.50,"a":[true,{}]})", {{"own", longstr("\x1b[31mred")}});
    const CommandResult result = s.parked("show --number 2");
    CHECK(result.code == 0);
    CHECK(result.says({"work queue", s.work}));
    CHECK(result.says({"parked because", "attempts-exhausted"}));
    CHECK(result.says({"own", "\\x1b[31mred"}));
    CHECK(result.out.find('\x1b') == std::string::npos);
    CHECK(result.says({"\"b\": 1.50,"}));
    CHECK(s.parked("show --number 2 --raw").out == R"({"b":1.50,"a":[true,{}]})");
    CHECK(s.parked("show --number 2 --json").says({"\"type\": \"longstr\""}));
    CHECK(s.parked("show --number 3").code == 1);
}

TEST_CASE("25 looks at what is parked cost no message and keep the order", "[slow][one-version]") {
    ParkedScene s;
    s.park(30);
    for (int i = 0; i < 25; ++i) {
        REQUIRE(s.parked(i % 2 == 0 ? "list" : "show --number 7").code == 0);
        REQUIRE(s.await_depth(s.parking, 30));
    }
    std::vector<std::string> wanted;
    for (int i = 0; i < 30; ++i)
        wanted.push_back(std::to_string(i));
    CHECK(s.drain(s.parking, 30) == wanted);
}

TEST_CASE("a queue where a look may cost the message is not looked at, unless that is insisted on",
          "[3.8][two-versions]") {
    ParkedScene s;
    if (!has_default_delivery_limit(s)) return;
    const std::string old = s.plain_queue("made-under-3", {{"x-queue-type", longstr("quorum")}});
    s.client.publish("", old, {.body = "x"});
    const CommandResult result = s.parked("list --from " + old);
    CHECK(result.code == 1);
    CHECK(result.says({"was not looked at", "default of 20"}));
    CHECK(s.parked("list --despite-delivery-limit --from " + old).code == 0);
}

TEST_CASE("a policy that lifts the delivery limit is seen through the management API", "[two-versions]") {
    ParkedScene s;
    if (!has_default_delivery_limit(s)) return;
    const std::string old = s.plain_queue("made-under-3", {{"x-queue-type", longstr("quorum")}});
    s.client.publish("", old, {.body = "x"});
    s.config.management_url = management_url();
    // A busy management API may not answer at once; meanwhile the queue is not looked at, for another reason.
    CHECK(await([&] { return s.parked("list --from " + old).says({"default delivery limit"}); }));
    set_policy("parked-test", "^" + old + "$", R"({"delivery-limit": 1000000})");
    CHECK(await([&] { return s.parked("list --from " + old).code == 0; }));
}

TEST_CASE("a classic queue of somebody else's may be looked at", "[two-versions]") {
    ParkedScene s;
    const std::string classic = s.plain_queue("classic", {{"x-queue-type", longstr("classic")}});
    s.client.publish("", classic, {.body = "x"});
    const CommandResult result = s.parked("list --from " + classic);
    CHECK(result.code == 0);
    CHECK(result.says({"(unknown)", " 1 "}));
}

TEST_CASE("a queue whose messages the broker gives to another consumer alone is given up with a reason",
          "[one-version]") {
    ParkedScene s;
    const std::string theirs =
        s.plain_queue("theirs", {{"x-queue-type", longstr("classic")}, {"x-single-active-consumer", {'t', true}}});
    Client other(broker_address());
    other.consume(theirs, 1);
    for (int i = 0; i < 3; ++i)
        s.client.publish("", theirs, {.body = "x"});
    REQUIRE(other.next(patience));
    const CommandResult result = s.parked("list --despite-delivery-limit --from " + theirs);
    CHECK(result.code == 1);
    CHECK(result.says({"not all of", "single active"}));
}
