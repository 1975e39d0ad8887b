// The broker closes a channel, or takes the consumer away.
#include <optional>

#include "faults/broker_setting.h"
#include "faults/publisher.h"
#include "faults/through_faults.h"

using namespace retryd::test;

TEST_CASE(
    "a permission to publish that is taken away and given back: nothing is lost, all come back, the cause is told",
    "[slow]") {
    Publisher publisher;
    ThroughFaults s;
    s.config.uris = {uri_of(publisher.through(s.network))};
    s.start();
    s.check_goes_on();
    publisher.forbid();
    s.stop();  // the broker remembers permissions for a channel's life
    s.daemon.start(s.config.yaml());
    s.reject_many(20);
    REQUIRE(s.daemon.await_log("ACCESS_REFUSED"));
    const int connections = s.network.accepted();
    REQUIRE(await([&] { return s.network.accepted() > connections + 40; }, 2 * patience));
    publisher.allow();
    s.check_nothing_is_lost();
    CHECK(s.parked.empty());
    s.check_goes_on();
    s.stop();
}

TEST_CASE("a parking exchange that may not be written to: the catch-all takes its messages, and the others go on") {
    Publisher publisher;
    ThroughFaults s;
    const std::string forbidden = s.exchange_name("dlx");
    s.client.declare_exchange(forbidden, "fanout");
    publisher.set_writable("^(?!" + forbidden + "$)");
    s.config.uris = {uri_of(publisher.through(s.network))};
    s.entry().on = "{rejected: park}";
    s.entry().parked_to = "{exchange: " + forbidden + "}";
    s.start();
    s.reject_many(100);
    for (int i = 0; i < 5; ++i)
        s.reject("parked" + std::to_string(i), s.other);
    s.reject_many(100);
    s.check_nothing_is_lost();
    CHECK(s.parked.size() == 5);
    CHECK(s.reconnects() <= 4);
    s.check_goes_on();
    s.stop();
}

TEST_CASE("a publication after which the channel is closed with 406: no connection is lost, and nothing else") {
    ThroughFaults s;
    s.start();
    const auto closed = s.network.on(publication(70), fault::then_406());
    s.reject_many(200);
    REQUIRE(s.network.await_matched(closed, 70));
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects() == 0);
    s.stop();
}

TEST_CASE("a publication to an exchange that is not there, 404: the channel is opened anew, and all come back") {
    ThroughFaults s;
    s.start();
    const auto lost = s.network.on({.method = method::basic_publish, .nth = 70, .times = 3}, fault::to_no_exchange());
    s.reject_many(200);
    REQUIRE(s.network.await_matched(lost, 72));
    s.check_nothing_is_lost();
    CHECK(s.parked.empty());
    s.check_goes_on();
    CHECK(s.reconnects() == 0);
    s.stop();
}

TEST_CASE("an error queue that is deleted while messages go through it: it is made and consumed again") {
    ThroughFaults s;
    s.start();
    const auto cancelled =
        s.network.on({.direction = Direction::to_daemon, .method = method::basic_cancel}, fault::none());
    s.reject_many(100);
    s.check_nothing_is_lost();
    s.client.delete_queue(s.config.error_queue);
    REQUIRE(s.network.await_matched(cancelled));
    s.check_goes_on();
    // Over the binding of a queue that it is still deleting RabbitMQ 4.3.6 may fail (541); 4.0.5 may not find it.
    const int ended = s.daemon.lines_with({"RabbitMQ ended the connection that declares"}) +
                      s.daemon.lines_with({"somebody has deleted it meanwhile"});
    CHECK(ended <= 1);
    CHECK(s.reconnects_as_often_as(1 + ended));
    CHECK(s.daemon.lines_with({"cancelled the consumer of the error queue"}) >= 1);
    s.stop();
}

TEST_CASE("a consumer that the broker gives up because an ack is missing: consumed anew, and nothing is lost",
          "[own-broker]") {
    ThroughFaults s;
    std::optional<QueuePolicy> policy;
    const BrokerSetting timeout("consumer_timeout", "1000");
    const BrokerSetting look("channel_tick_interval", "300");
    SECTION("quorum error queue") {
        // From 4.3 on the queue has it.
        if (version_of(s.client) >= Version{4, 3}) {
            policy.emplace(s.config.error_queue, R"({"consumer-timeout":1000})");
        }
    }
    SECTION("classic error queue") {
        if (version_of(s.client) >= Version{4, 3}) return;  // and a classic one has none
        s.config.error_queue_type = "classic";
    }
    s.start();
    s.network.on(every(confirm()), fault::swallow());
    s.reject_many(50);
    REQUIRE(await([&] {
        return s.daemon.lines_with({"the broker closed the consuming channel", "timed out"}) +
                   s.daemon.lines_with({"the broker cancelled the consumer"}) >
               0;
    }));
    s.network.heal();
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() > 0; }));
    s.check_goes_on();
    s.stop();
}
