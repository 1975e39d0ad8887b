// A parked message has headers that say why, where and since when, and stays until somebody removes it.
#include <ctime>

#include "support/catch.h"
#include "support/forged.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

void check_parked_now(const Received& parked) {
    const Value* at = find(parked.headers, "retryd-parked-at");
    REQUIRE(at != nullptr);
    REQUIRE(at->kind == 'T');
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    CHECK(std::get<std::uint64_t>(at->data) + 60 >= now);
    CHECK(std::get<std::uint64_t>(at->data) <= now + 1);
}

/// basic.get and requeue, like the management page does.
void look(Scenario& s, const std::string& queue) {
    std::optional<Received> message;
    // Only when it has messages: until it is declared there is nothing to get from.
    REQUIRE(await([&] { return s.depth(queue) > 0 && (message = s.client.get(queue)).has_value(); }));
    s.client.nack(message->tag, true);
}

/// A consumer that takes the message and then loses its connection.
void take_and_vanish(Scenario& s, const std::string& queue) {
    Client client(broker_address());
    client.consume(queue, 10);
    const bool came = client.next(patience).has_value();
    client.cut();
    REQUIRE(came);
    REQUIRE(s.await_depth(queue, 1));
}

}  // namespace

TEST_CASE("a parked message keeps its x-death and says why, since when, and where it came from", "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms"});
    s.start();
    s.await_declared();
    Worker worker(work);
    s.client.publish("", work, {.body = "x", .headers = {{"own", longstr("stays")}}});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(text_header(parked, "retryd-queue") == work);
    CHECK(text_header(parked, "retryd-reason") == "rejected");
    CHECK(text_header(parked, "retryd-routing-key") == work);
    CHECK(long_header(parked, "retryd-attempt") == 2);
    CHECK(text_header(parked, "own") == "stays");
    CHECK(find(parked.headers, "retryd-first-death") != nullptr);
    check_parked_now(parked);
    const Value* deaths = find(parked.headers, "x-death");
    REQUIRE(deaths != nullptr);
    REQUIRE(deaths->kind == 'A');
    const Array& entries = std::get<Array>(deaths->data);
    REQUIRE_FALSE(entries.empty());
    CHECK(*find(std::get<Table>(entries.front().data), "queue") == longstr(work));
}

TEST_CASE("a message published straight to the error exchange is parked in the catch-all as no-death") {
    Scenario s;
    s.retry(s.work_queue("work"), {"50ms"});
    s.start();
    s.client.publish(s.config.error_exchange, "some.key", {.body = "x", .headers = {{"own", longstr("stays")}}});
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "no-death");
    CHECK(text_header(parked, "own") == "stays");
    check_parked_now(parked);
}

TEST_CASE("a message of a queue that no entry matches is parked in the catch-all as no-entry", "[one-version]") {
    Scenario s;
    s.retry(s.work_queue("work"), {"50ms"});
    const std::string stranger = s.work_queue("stranger");
    s.start();
    Worker worker(stranger);
    s.client.publish("", stranger, {.body = "x"});
    worker.reject(worker.receive());
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "no-entry");
    CHECK(text_header(parked, "retryd-queue") == stranger);
    CHECK(find(parked.headers, "x-death") != nullptr);
    check_parked_now(parked);
}

TEST_CASE("parking queues are named by the template, or by the entry where it has its own", "[one-version]") {
    Scenario s;
    const std::string first = s.work_queue("first");
    const std::string second = s.work_queue("second");
    s.config.parking_template = s.queue_name("set-aside") + ".{queue}";
    s.retry(first, {"50ms"});
    s.retry(second, {"50ms"});
    s.config.entries.back().parked = s.queue_name("team-parking");
    s.start();
    for (const std::string& work : {first, second}) {
        Worker worker(work);
        s.client.publish("", work, {.body = work});
        worker.reject(worker.receive());
        worker.reject(worker.receive());
    }
    const std::string by_template = s.queue_name("set-aside") + "." + first;
    CHECK(s.take(by_template).body == first);
    CHECK(s.take(s.queue_name("team-parking")).body == second);
    s.client.delete_queue(by_template);
}

TEST_CASE("a parked message that was looked at 50 times is still there", "[two-versions]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms"});
    s.start();
    s.client.publish(s.config.error_exchange, "", {.body = "lost"});
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    for (const std::string& queue : {s.parking_of(work), s.config.catch_all}) {
        CAPTURE(queue);
        for (int looks = 0; looks < 50; ++looks)
            look(s, queue);
        CHECK(s.await_depth(queue, 1));
    }
}

TEST_CASE("a parked message is still there after 50 consumers that lost their connection", "[two-versions]") {
    Scenario s;
    s.retry(s.work_queue("work"), {"50ms"});
    s.start();
    s.client.publish(s.config.error_exchange, "", {.body = "x"});
    REQUIRE(s.await_depth(s.config.catch_all, 1));
    for (int times = 0; times < 50; ++times)
        take_and_vanish(s, s.config.catch_all);
    CHECK(s.take(s.config.catch_all).body == "x");
}

TEST_CASE("a message in the error queue lives through 50 lost connections of its consumer and is then retried",
          "[slow][two-versions]") {
    const bool of_delivery_limit = GENERATE(false, true);
    CAPTURE(of_delivery_limit);
    Scenario s;
    const std::string work = s.quorum_work_queue("work", {{"x-delivery-limit", int32(3)}});
    s.retry(work, {"50ms"});
    s.start();
    s.daemon.kill();
    REQUIRE(await([&] { return !s.consuming(); }));
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    for (int returns = 0; of_delivery_limit && returns < 3; ++returns)
        worker.client.reject(worker.receive().tag, true);
    worker.client.reject(worker.receive().tag, of_delivery_limit);
    REQUIRE(s.await_depth(s.config.error_queue, 1));
    for (int times = 0; times < 50; ++times)
        take_and_vanish(s, s.config.error_queue);
    s.start();
    CHECK(worker.receive().body == "x");
}
