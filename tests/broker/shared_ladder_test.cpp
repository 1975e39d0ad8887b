// `return: headers`: one set of rungs for any number of work queues, and the producer's routing key on every return.
#include <algorithm>
#include <sstream>

#include "broker/waits.h"
#include "support/catch.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A topic exchange whose consumers dispatch on the routing key.
struct Events : Scenario {
    Events() : exchange(exchange_name("events")) { client.declare_exchange(exchange, "topic"); }

    std::string subscriber(const std::string& name, const std::string& type = "classic") {
        const std::string queue = work_queue(name, {{"x-queue-type", longstr(type)}});
        client.bind(queue, exchange, "order.#");
        return queue;
    }

    std::string exchange;
};

void go_through_shared_ladder(const std::string& work_type, const std::string& rung_type) {
    INFO("work queue: " << work_type << ", rungs: " << rung_type);
    const std::vector<milliseconds> waits{milliseconds(150), milliseconds(250), milliseconds(80)};
    Events s;
    const std::string work = s.subscriber("work", work_type);
    const std::string ladder = s.share({work}, {"150ms", "250ms", "80ms"}, rung_type);
    s.start();
    Worker worker(work);
    s.client.publish(s.exchange, "order.eu.created", {.body = "payload", .headers = {{"own", longstr("stays")}}});

    const Received last = reject_through(worker, waits, [&](const Received& message) {
        CHECK(message.routing_key == "order.eu.created");
        CHECK(message.body == "payload");
        CHECK(text_header(message, "own") == "stays");
        CHECK(text_header(message, "retryd-exchange") == s.exchange);
    });
    worker.reject(last);
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(text_header(parked, "retryd-routing-key") == "order.eu.created");
    CHECK(long_header(parked, "retryd-attempt") == 4);
    CHECK(worker.stays_idle(milliseconds(200)));
    CHECK_FALSE(s.exists(s.rung(work, "150ms")));
    s.stop();
}

std::ptrdiff_t count_beginning(const std::vector<std::string>& queues, const std::string& prefix) {
    return std::count_if(queues.begin(), queues.end(), [&](const auto& queue) { return queue.starts_with(prefix); });
}

}  // namespace

TEST_CASE("a shared ladder keeps the producer's routing key on every return: classic work queue, quorum rungs",
          "[3.8]") {
    go_through_shared_ladder("classic", "quorum");
}

TEST_CASE("a shared ladder keeps the producer's routing key on every return: quorum work queue, quorum rungs",
          "[3.8]") {
    go_through_shared_ladder("quorum", "quorum");
}

TEST_CASE("a shared ladder keeps the producer's routing key on every return: classic work queue, classic rungs",
          "[3.8]") {
    go_through_shared_ladder("classic", "classic");
}

TEST_CASE("a shared ladder keeps the producer's routing key on every return: quorum work queue, classic rungs",
          "[3.8]") {
    go_through_shared_ladder("quorum", "classic");
}

TEST_CASE("of two work queues on one ladder each gets back only what it rejected itself", "[one-version]") {
    Events s;
    const std::string billing = s.subscriber("billing");
    const std::string shipping = s.subscriber("shipping");
    s.share({billing, shipping}, {"100ms", "150ms"});
    s.start();
    Worker biller(billing);
    Worker shipper(shipping);
    s.client.publish(s.exchange, "order.created", {.body = "first"});
    shipper.ack(shipper.receive());
    biller.reject(biller.receive());
    const Received again = biller.receive();
    CHECK(again.body == "first");
    CHECK(text_header(again, "retryd-queue") == billing);
    biller.ack(again);
    CHECK(shipper.stays_idle(milliseconds(200)));

    s.client.publish(s.exchange, "order.created", {.body = "second"});
    biller.reject(biller.receive());
    shipper.reject(shipper.receive());
    CHECK(text_header(biller.receive(), "retryd-queue") == billing);
    CHECK(text_header(shipper.receive(), "retryd-queue") == shipping);
    CHECK(biller.stays_idle(milliseconds(200)));
    CHECK(shipper.stays_idle(milliseconds(0)));
}

TEST_CASE("three work queues on a shared ladder of five rungs have five rungs in all", "[one-version]") {
    Scenario s;
    const std::vector<std::string> works{s.work_queue("a"), s.work_queue("b"), s.work_queue("c")};
    const std::string ladder = s.share(works, {"100ms", "200ms", "300ms", "400ms", "500ms"});
    s.start();
    for (const std::string& work : works) {
        Worker worker(work);
        s.client.publish("", work, {.body = work});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(back.body == work);
        worker.ack(back);
        REQUIRE(await([&] { return s.exists(s.parking_of(work)); }));
    }
    s.await_declared();
    const std::vector<std::string> queues = queue_names();
    CHECK(count_beginning(queues, "retryd." + ladder + ".") == 5);
    // Work queues, their parking queues, error queue and catch-all, but no rung.
    CHECK(count_beginning(queues, s.queue_name("")) == 3 + 3 + 2);
}

TEST_CASE("the first message of a glob's queue finds its way back through a shared ladder") {
    Scenario s;
    const std::string hook = s.work_queue("hook.a");
    const std::string ladder = s.share({s.queue_name("hook.*")}, {"100ms"});
    s.start();
    CHECK(await([&] { return s.exists(s.shared_rung(ladder, "100ms")); }));
    CHECK_FALSE(s.exists(s.parking_of(hook)));
    Worker worker(hook);
    s.client.publish("", hook, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
}

TEST_CASE("a shared rung takes messages of high priority apart where they would hold back the others",
          "[one-version]") {
    Events s;
    const std::string work = s.subscriber("work");
    const std::string ladder = s.share({work}, {"100ms"});
    s.start();
    Worker worker(work);
    s.client.publish(s.exchange, "order.urgent", {.body = "urgent", .properties = {.priority = 9}});
    worker.reject(worker.receive());
    const Received back = worker.receive();
    CHECK(back.routing_key == "order.urgent");
    CHECK(back.properties.priority == 9);
    const Version version = version_of(s.client);
    const bool needs_its_own = version >= Version{4, 0} && version < Version{4, 3};
    const std::string high = s.shared_rung(ladder, "100ms") + ".high";
    // It is declared beside what goes on: the message may take the detour until it is there.
    if (needs_its_own) REQUIRE(await([&] { return s.exists(high); }));
    CHECK(s.exists(high) == needs_its_own);
}
