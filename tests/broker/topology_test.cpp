// What retryd declares: when, with which arguments, and what it does if something else exists already.
#include "support/catch.h"
#include "support/command_line.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

bool from_4_0(const Scenario& s) {
    return version_of(s.client) >= Version{4, 0};
}

Table with_many_looks(Table arguments, const Scenario& s) {
    if (from_4_0(s)) arguments.push_back({"x-delivery-limit", int32(1'000'000)});
    return arguments;
}

Table parking_arguments(const Scenario& s) {
    Table arguments{{"x-queue-type", longstr("quorum")}};
    if (s.has_quorum_ttl()) arguments.push_back({"x-overflow", longstr("reject-publish")});
    return with_many_looks(arguments, s);
}

Table returned_by_the_default_exchange(const std::string& queue) {
    return {{"x-dead-letter-exchange", longstr("")}, {"x-dead-letter-routing-key", longstr(queue)}};
}

Table kept_until_confirmed(Table arguments, const Scenario& s) {
    if (!s.has_quorum_ttl()) return arguments;
    arguments.push_back({"x-dead-letter-strategy", longstr("at-least-once")});
    arguments.push_back({"x-overflow", longstr("reject-publish")});
    return arguments;
}

/// Classic before 3.10, whatever the configuration says.
Table quorum_rung(const Scenario& s, const std::string& work, std::int64_t ttl) {
    Table arguments = returned_by_the_default_exchange(work);
    arguments.push_back({"x-queue-type", longstr(s.has_quorum_ttl() ? "quorum" : "classic")});
    arguments.push_back({"x-message-ttl", int64(ttl)});
    return kept_until_confirmed(arguments, s);
}

bool accepted(Scenario& s, const std::string& queue, const Table& arguments) {
    try {
        s.client.declare_queue(queue, arguments);
        return true;
    } catch (const Refused& refused) {
        UNSCOPED_INFO(refused.what());
        return false;
    }
}

/// Before 3.10 a declaration without it is accepted as the same (3.8.9; refused on 3.10.8, 4.0.5 and 4.3.6).
bool delivery_limit_is_compared(const Scenario& s) {
    return s.has_quorum_ttl();
}

/// Checks that the queue exists with these arguments: the same declaration is accepted, one without any of them is not.
void check_declared(Scenario& s, const std::string& queue, const Table& arguments) {
    CAPTURE(queue);
    REQUIRE(await([&] { return s.exists(queue); }));
    CHECK(accepted(s, queue, arguments));
    for (const Field& field : arguments) {
        if (field.name == "x-queue-type" && field.value == longstr("classic")) continue;  // the same as none
        if (field.name == "x-delivery-limit" && !delivery_limit_is_compared(s)) continue;
        CAPTURE(field.name);
        CHECK_FALSE(accepted(s, queue, without(arguments, {field.name})));
    }
}

}  // namespace

TEST_CASE("an entry with an exact name gets its rungs and its parking queue at start, with the promised arguments",
          "[3.8]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms", "1m30s"});
    s.start();
    REQUIRE(await([&] { return s.exists(s.parking_of(work)) && s.exists(s.rung(work, "1m30s")); }));
    check_declared(s, s.rung(work, "100ms"), quorum_rung(s, work, 100));
    check_declared(s, s.rung(work, "1m30s"), quorum_rung(s, work, 90'000));
    check_declared(s, s.parking_of(work), parking_arguments(s));
    check_declared(s, s.config.catch_all, parking_arguments(s));
    CHECK_FALSE(s.exists(s.rung(work, "100ms") + ".high"));
}

TEST_CASE("classic rungs have no argument that only quorum queues know", "[3.8]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"}, "classic");
    s.start();
    REQUIRE(await([&] { return s.exists(s.rung(work, "100ms")); }));
    Table arguments = returned_by_the_default_exchange(work);
    arguments.push_back({"x-message-ttl", int64(100)});
    arguments.push_back({"x-queue-type", longstr("classic")});
    check_declared(s, s.rung(work, "100ms"), arguments);
}

TEST_CASE("the error exchange is a fanout; the error queue dead-letters to the catch-all", "[3.8]") {
    const std::string type = GENERATE(as<std::string>{}, "quorum", "classic");
    CAPTURE(type);
    Scenario s;
    s.config.error_queue_type = type;
    s.retry(s.work_queue("work"), {"100ms"});
    s.start();
    CHECK_NOTHROW(s.client.declare_exchange(s.config.error_exchange, "fanout"));
    CHECK_THROWS_AS(s.client.declare_exchange(s.config.error_exchange, "direct"), Refused);
    Table arguments = returned_by_the_default_exchange(s.config.catch_all);
    arguments.push_back({"x-queue-type", longstr(type)});
    if (type == "quorum") {
        arguments = kept_until_confirmed(arguments, s);
        arguments.push_back({"x-delivery-limit", int32(100)});
    }
    check_declared(s, s.config.error_queue, arguments);
    s.client.publish(s.config.error_exchange, "any key", {.body = "x"});
    CHECK(s.take(s.config.catch_all).body == "x");
}

TEST_CASE("a glob's rungs are declared when the first message comes, not before", "[one-version]") {
    Scenario s;
    const std::string hook = s.work_queue("hook.a");
    s.retry(s.queue_name("hook.*"), {"100ms", "200ms"});
    s.start();
    CHECK_FALSE(s.exists(s.rung(hook, "100ms")));
    CHECK_FALSE(s.exists(s.parking_of(hook)));
    Worker worker(hook);
    s.client.publish("", hook, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    check_declared(s, s.rung(hook, "100ms"), quorum_rung(s, hook, 100));
    for (const std::string& queue : {s.rung(hook, "200ms"), s.parking_of(hook)})
        CHECK(await([&] { return s.exists(queue); }));
}

TEST_CASE("declaring again at every start changes nothing and disturbs nothing", "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms", "10m"});
    s.start();
    Worker worker(work);
    const Table second_attempt = proven({{"retryd-queue", longstr(work)}, {"retryd-attempt", int64(1)}}, s.config);
    s.client.publish("", work, {.body = "waiting", .headers = second_attempt});
    worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.rung(work, "10m"), 1));
    for (int restarts = 0; restarts < 2; ++restarts) {
        s.stop();
        s.start();
        s.client.publish("", work, {.body = "x"});
        worker.reject(worker.receive());
        worker.ack(worker.receive());
    }
    CHECK(s.depth(s.rung(work, "10m")) == 1);
    CHECK(s.daemon.lines_with({"PRECONDITION"}) == 0);
}

TEST_CASE("a rung with other arguments is told in one line and its messages are parked; other queues go on", "[3.8]") {
    Scenario s;
    const std::string broken = s.work_queue("broken");
    const std::string sound = s.work_queue("sound");
    s.client.declare_queue(s.rung(broken, "100ms"), quorum_rung(s, broken, 777'000));
    s.retry(broken, {"100ms"});
    s.retry(sound, {"100ms"});
    s.start();
    Worker on_broken(broken);
    Worker on_sound(sound);
    s.client.publish("", broken, {.body = "broken"});
    s.client.publish("", sound, {.body = "sound"});
    on_broken.reject(on_broken.receive());
    on_sound.reject(on_sound.receive());
    CHECK(on_sound.receive().body == "sound");
    const Received parked = s.take(s.parking_of(broken));
    CHECK(parked.body == "broken");
    CHECK(text_header(parked, "retryd-parked-reason") == "unpublishable");
    CHECK(s.depth(s.rung(broken, "100ms")) == 0);

    s.client.publish("", broken, {.body = "again"});
    on_broken.reject(on_broken.receive());
    CHECK(s.take(s.parking_of(broken)).body == "again");
    CHECK(s.daemon.lines_with({s.rung(broken, "100ms"), "x-message-ttl", "777000", "100"}) == 1);
    CHECK(s.daemon.lines_with({"x-message-ttl"}) == 1);
    s.stop();
}

TEST_CASE("a parking queue with other arguments: what belongs there goes to the catch-all") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.client.declare_queue(s.parking_of(work), {{"x-queue-type", longstr("classic")}});
    s.retry(work, {"50ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    const Received parked = s.take(s.config.catch_all);
    CHECK(parked.body == "x");
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(s.daemon.lines_with({s.parking_of(work), "x-queue-type", "classic", "quorum"}) == 1);
}

TEST_CASE("queues made under 3.x, without x-delivery-limit, are accepted with a warning that names the policy",
          "[3.8][since-4.0]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    Table error_queue = returned_by_the_default_exchange(s.config.catch_all);
    error_queue.push_back({"x-queue-type", longstr("quorum")});
    s.client.declare_queue(s.config.error_queue, kept_until_confirmed(error_queue, s));
    s.client.declare_queue(s.parking_of(work), {{"x-queue-type", longstr("quorum")}});
    s.retry(work, {"50ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    CHECK(s.take(s.parking_of(work)).body == "x");
    CHECK(s.daemon.lines_with({s.config.error_queue, "delivery-limit"}) >= 1);
    CHECK(s.daemon.lines_with({s.parking_of(work), "delivery-limit"}) == 1);
}

TEST_CASE(
    "queues with x-delivery-limit -1, as earlier builds of retryd made them, are used as they are; a warning where it "
    "does harm",
    "[since-4.0]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    const auto older = [](Table arguments) {
        arguments.push_back({"x-queue-type", longstr("quorum")});
        arguments.push_back({"x-delivery-limit", int32(-1)});
        return arguments;
    };
    s.client.declare_queue(s.config.error_queue,
                           kept_until_confirmed(older(returned_by_the_default_exchange(s.config.catch_all)), s));
    s.client.declare_queue(s.parking_of(work), older({}));
    s.retry(work, {"50ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    CHECK(s.take(s.parking_of(work)).body == "x");
    const int warnings = version_of(s.client) < Version{4, 1} ? 1 : 0;
    CHECK(s.daemon.lines_with({s.parking_of(work), "x-delivery-limit -1", "4.1.5"}) == warnings);
    s.await_declared();
    CHECK(run_retryd("plan -c " + s.daemon.config_file()).code == 0);
}

TEST_CASE("a rung that somebody deletes under the running daemon is made again and nothing is lost") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    // One retry first: 3.10 fails when a rung is deleted within milliseconds of its declaration.
    const Received once = worker.receive();
    worker.ack(once);
    s.client.publish("", work, {.body = "y"});
    s.client.delete_queue(s.rung(work, "100ms"));
    worker.reject(worker.receive());
    const Received back = worker.receive();
    CHECK(back.body == "y");
    CHECK(long_header(back, "retryd-attempt") == 1);
    s.stop();
}

TEST_CASE("a parking queue that somebody deletes under the running daemon is made again and nothing is lost") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.entry().on = "{rejected: park}";
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "before"});
    worker.reject(worker.receive());
    CHECK(s.take(s.parking_of(work)).body == "before");
    s.client.delete_queue(s.parking_of(work));
    for (int i = 0; i < 3; ++i)
        s.client.send("", work, {.body = "after"});
    s.client.await_confirms();
    for (int i = 0; i < 3; ++i)
        worker.reject(worker.receive());
    CHECK(s.await_depth(s.parking_of(work), 3));
    CHECK(await([&] { return s.daemon.lines_with({"parked a message", "reason-rejected"}) == 4; }));
    CHECK(s.depth(s.config.error_queue) == 0);
    CHECK(s.depth(s.config.catch_all) == 0);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("an error queue that somebody deletes under the running daemon is made again and consumed", "[slow]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    s.delete_declared(s.config.error_queue);
    // 3.8.9 does not always tell a consumer that its queue is gone: then the daemon finds out within a minute.
    REQUIRE(await([&] { return s.daemon.lines_with({"connected to"}) == 2; }, seconds(120)));
    REQUIRE(await([&] { return s.consuming(); }));
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(worker.receive().body == "x");
}
