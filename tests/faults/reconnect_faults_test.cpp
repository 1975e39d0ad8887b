// What goes wrong while a connection is made.
#include <vector>

#include "faults/publisher.h"
#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

/// What passes from the connection's first frame to the first delivery.
std::vector<When> steps_to_consuming() {
    return {sent_by_broker(10, 10),   // connection.start
            sent_by_daemon(10, 11),   // connection.start-ok
            sent_by_broker(10, 41),   // connection.open-ok
            sent_by_daemon(20, 10),   // channel.open
            sent_by_daemon(85, 10),   // confirm.select
            sent_by_daemon(50, 10),   // queue.declare
            sent_by_broker(50, 11),   // queue.declare-ok
            sent_by_daemon(60, 20),   // basic.consume
            sent_by_broker(60, 21)};  // basic.consume-ok
}

/// The connection is lost, and the fault meets the next ones.
void lose_the_connection(ThroughFaults& s) {
    const auto cut = s.network.on(ack(), fault::cut());
    s.reject_many(10);
    REQUIRE(s.network.await_matched(cut));
}

}  // namespace

TEST_CASE("a connection that is cut in the middle of each frame that makes it is made again, and nothing is lost") {
    ThroughFaults s;
    s.start();
    for (const When& step : steps_to_consuming()) {
        CAPTURE(step.method >> 16, step.method & 0xffff);
        const auto cut = s.network.on(step, fault::cut_in_the_middle());
        lose_the_connection(s);
        REQUIRE(s.network.await_matched(cut));
        s.check_goes_on();
    }
    CHECK(s.parked.empty());
    s.stop();
}

TEST_CASE("a consumer taken away as soon as it is there, three times: the fourth stays, nothing is lost") {
    ThroughFaults s;
    s.start();
    When consume = sent_by_daemon(60, 20);
    consume.times = 3;
    std::size_t taken_away = 0;
    SECTION("by basic.cancel") {
        taken_away = s.network.on(consume, fault::consumer_cancelled());
    }
    SECTION("by a closed channel") {
        taken_away = s.network.on(consume, fault::then_406());
    }
    lose_the_connection(s);
    REQUIRE(s.network.await_matched(taken_away, 4));
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(4));
    CHECK(s.parked.empty());
    s.stop();
}

TEST_CASE("a connection that ends while it is asked for what an earlier run has held: asked again, and it comes home") {
    ThroughFaults s;
    const std::string held = s.other + ".held";
    s.entry().hold = true;
    s.start();
    for (const char* id : {"1", "2", "3"})
        s.reject(id, s.other);
    REQUIRE(s.await_depth(held, 3));
    s.stop();
    s.entry().hold = false;
    When asked = sent_by_daemon(50, 10);
    asked.marker = held;
    const auto cut = s.network.on(asked, fault::cut());
    s.start();
    REQUIRE(s.network.await_matched(cut));
    s.check_nothing_is_lost();
    CHECK(s.parked.empty());
    s.stop();
}

TEST_CASE("permissions taken away, one kind after the other: given back, all come back, none is set aside") {
    Publisher user;
    ThroughFaults s;
    s.config.uris = {uri_of(user.through(s.network))};
    s.start();
    const auto check_without = [&](const std::string& kind, const std::string& configure, const std::string& write,
                                   const std::string& read) {
        CAPTURE(kind);
        user.set(configure, write, read);
        const int refusals = s.daemon.lines_with({"ACCESS_REFUSED"});
        const int connections = s.network.accepted();
        // A channel may remember for a while what it was allowed.
        s.network.on(ack(), fault::cut());
        s.reject_many(30);
        REQUIRE(await([&] { return s.network.accepted() >= connections + 6; }));
        CHECK(await([&] { return s.daemon.lines_with({"ACCESS_REFUSED"}) > refusals; }));
        CHECK_FALSE(s.consuming());
        user.allow();
        s.check_nothing_is_lost();
        s.check_goes_on();
    };
    check_without("write", ".*", "", ".*");
    check_without("read", ".*", ".*", "");
    CHECK(s.parked.empty());
    s.stop();
}

TEST_CASE("the permission to configure taken away: what is there is used as it is and told once, and retries go on") {
    Publisher user;
    ThroughFaults s;
    s.config.uris = {uri_of(user.through(s.network))};
    s.start();
    s.check_goes_on();
    user.set("", ".*", ".*");
    // A channel may remember for a while what it was allowed.
    s.network.on(ack(), fault::cut());
    s.reject_many(30);
    REQUIRE(s.daemon.await_log("used as it is there"));
    s.check_nothing_is_lost();
    s.check_goes_on();
    const int connections = s.network.accepted();
    s.network.on(ack(), fault::cut());
    s.reject_many(30);
    REQUIRE(await([&] { return s.network.accepted() > connections; }));
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.consuming());
    CHECK(s.parked.empty());
    CHECK(s.daemon.lines_with({"used as it is there", "give the user the permission"}) == 1);
    user.allow();
    s.stop();
}

TEST_CASE(
    "a reload in the moment of consuming: the new configuration is in force, by one consumer, and nothing is lost") {
    ThroughFaults s;
    std::size_t held = 0;
    SECTION("before the broker knows of the consumer") {
        held = s.network.on(sent_by_daemon(60, 20), fault::late(milliseconds(700)));
    }
    SECTION("before the daemon knows that it consumes") {
        held = s.network.on(sent_by_broker(60, 21), fault::late(milliseconds(700)));
    }
    s.daemon.start(s.config.yaml());
    REQUIRE(s.network.await_matched(held));
    s.config.ladders.front().delays = {"70ms"};
    s.reload();
    REQUIRE(s.daemon.await_log("in force from the next message on"));
    s.check_goes_on();
    CHECK(await([&] { return s.exists(s.rung(s.work, "70ms")); }));
    CHECK(await([&] { return s.client.look_at(s.config.error_queue)->consumers == 1; }));
    CHECK(s.reconnects() == 0);
    s.stop();
}
