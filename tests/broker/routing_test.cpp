// Which queue a message comes back to, and which of its deaths count as attempts.
#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("of two work queues fed by one exchange only the one that rejected gets its copy back", "[one-version]") {
    Scenario s;
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "fanout");
    const std::string billing = s.work_queue("billing");
    const std::string shipping = s.work_queue("shipping");
    s.client.bind(billing, events);
    s.client.bind(shipping, events);
    s.retry(billing, {"100ms"});
    s.retry(shipping, {"100ms"});
    s.start();
    Worker biller(billing);
    Worker shipper(shipping);
    s.client.publish(events, "order.created", {.body = "order"});
    shipper.ack(shipper.receive());
    biller.reject(biller.receive());

    const Received again = biller.receive();
    CHECK(again.body == "order");
    CHECK(text_header(again, "retryd-queue") == billing);
    CHECK(text_header(again, "retryd-exchange") == events);
    CHECK(text_header(again, "retryd-routing-key") == "order.created");
    CHECK(shipper.stays_idle(milliseconds(200)));
    CHECK(biller.stays_idle(milliseconds(0)));
}

TEST_CASE("both copies of one message go through their own ladders when both queues reject", "[one-version]") {
    Scenario s;
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "fanout");
    const std::string first = s.work_queue("first");
    const std::string second = s.work_queue("second");
    s.client.bind(first, events);
    s.client.bind(second, events);
    s.retry(first, {"100ms", "100ms"});
    s.retry(second, {"150ms"});
    s.start();
    Worker one(first);
    Worker two(second);
    s.client.publish(events, "", {.body = "x"});
    one.reject(one.receive());
    two.reject(two.receive());
    one.reject(one.receive());
    two.reject(two.receive());
    CHECK(long_header(one.receive(), "retryd-attempt") == 2);
    CHECK(text_header(s.take(s.parking_of(second)), "retryd-parked-reason") == "attempts-exhausted");
}

TEST_CASE("headers that a consumer copies into a new message for another queue hand on no attempts", "[one-version]") {
    Scenario s;
    const std::string first = s.work_queue("first");
    const std::string second = s.work_queue("second");
    s.retry(first, {"50ms", "50ms", "50ms"});
    s.retry(second, {"50ms", "1h"});
    s.start();
    Worker one(first);
    Worker two(second);
    s.client.publish("", first, {.body = "x"});
    one.reject(one.receive());
    one.reject(one.receive());
    const Received done = one.receive();
    REQUIRE(long_header(done, "retryd-attempt") == 2);
    one.ack(done);

    s.client.publish("", second, {.body = "next step", .headers = done.headers});
    two.reject(two.receive());
    const Received again = two.receive();
    CHECK(long_header(again, "retryd-attempt") == 1);
    CHECK(text_header(again, "retryd-queue") == second);
    CHECK(text_header(again, "retryd-routing-key") == second);
}

TEST_CASE("a consumer that publishes its message to the same queue again goes on with the attempts it had",
          "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms", "50ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    const Received once = worker.receive();
    worker.ack(once);
    s.client.publish("", work, {.body = "x", .headers = without(once.headers, {"x-*"})});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 2);
}

TEST_CASE("the first entry that matches decides, globs included", "[one-version]") {
    Scenario s;
    const std::string special = s.work_queue("hook.special");
    const std::string other = s.work_queue("hook.other");
    s.retry(special, {"100ms"});
    s.retry(s.queue_name("hook.*"), {"1h"});
    s.start();
    Worker specials(special);
    s.client.publish("", special, {.body = "x"});
    s.client.publish("", other, {.body = "y"});
    specials.reject(specials.receive());
    CHECK(specials.receive().body == "x");
    Worker others(other);
    others.reject(others.receive());
    CHECK(s.await_depth(s.rung(other, "1h"), 1));
}
