// Tests of the tests' own AMQP client.
#include "broker/every_type.h"
#include "support/catch.h"
#include "support/scenario.h"
#include "support/tcp_relay.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("the test client: a message of every field type and property comes out of a queue as it went in",
          "[one-version]") {
    Scenario s;
    const std::string queue = s.plain_queue("plain");
    Message message;
    message.body = std::string("body\0with zero", 14);
    message.headers = one_of_each("h-");
    message.properties = {.content_type = "text/plain",
                          .content_encoding = "identity",
                          .delivery_mode = 2,
                          .priority = 3,
                          .correlation_id = "c",
                          .reply_to = "r",
                          .expiration = "60000",
                          .message_id = "m",
                          .timestamp = 1'700'000'000,
                          .type = "t",
                          .user_id = "guest",
                          .app_id = "a",
                          .cluster_id = ""};
    s.client.publish("", queue, message);

    const Received received = s.take(queue);
    CHECK(received.body == message.body);
    CHECK(received.properties == message.properties);
    CHECK(describe(sorted(received.headers)) == describe(sorted(message.headers)));
    CHECK(sorted(received.headers) == sorted(message.headers));
    CHECK(received.routing_key == queue);
}

TEST_CASE("the test client: rejects, refusals and returns are seen as what they are", "[one-version]") {
    Scenario s;
    s.client.declare_exchange(s.config.error_exchange, "fanout");
    const std::string dead = s.plain_queue("dead");
    s.client.bind(dead, s.config.error_exchange);
    const std::string work = s.work_queue("work");

    CHECK_FALSE(s.client.look_at("no-such-queue").has_value());
    CHECK_THROWS_AS(s.client.declare_queue(work), Refused);
    CHECK_THROWS(s.client.publish("", "no-such-queue", {}));

    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    const Received received = s.take(dead);
    CHECK(received.body == "x");
    const Value* deaths = find(received.headers, "x-death");
    REQUIRE(deaths != nullptr);
    CHECK(deaths->kind == 'A');
    CHECK(worker.stays_idle(milliseconds(50)));
}

TEST_CASE("the test's relay: refuses while closed, cuts, holds and goes on", "[one-version]") {
    Scenario s;
    const std::string queue = s.plain_queue("plain");
    TcpRelay relay(broker_address());
    CHECK_THROWS(Client(relay.address()));
    relay.open();
    {
        Client through(relay.address());
        through.publish("", queue, {.body = "1"});
        CHECK(relay.connections() == 1);
        relay.hold();
        through.send("", queue, {.body = "2"});
        CHECK_THROWS(through.await_confirms(milliseconds(100)));
        relay.resume();
        through.await_confirms();
        relay.cut();
        CHECK_THROWS(through.publish("", queue, {.body = "3"}));
    }
    CHECK(relay.connections() == 0);
    relay.close();
    CHECK_THROWS(Client(relay.address()));
    CHECK(s.depth(queue) == 2);
}
