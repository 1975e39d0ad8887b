// SIGTERM, and then something else goes wrong before the answers about what is in flight have come.
#include <csignal>

#include "faults/gate.h"
#include "faults/publisher.h"
#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

constexpr int in_flight = ThroughFaults::under_way_at_least;

/// The broker has taken all publications; its answers, or whatever the test has it say instead, wait behind a gate.
struct Stopping : ThroughFaults {
    Stopping() {
        config.heartbeat = "2s";
        config.shutdown_timeout = "30s";
    }

    void stop_with_messages_in_flight(const Gate& gate) {
        reject_many(in_flight);
        REQUIRE(await_depth(work, in_flight));
        REQUIRE(network.await_matched(gate.frames()));
        begin_to_stop();
    }
    void begin_to_stop() {
        daemon.signal(SIGTERM);
        REQUIRE(daemon.await_log("stopping: waiting for"));
    }
    /// The daemon that is started next has what is left.
    void check_ends_and_nothing_is_lost() {
        CHECK(daemon.wait(patience) == 0);
        network.heal();
        start();
        check_nothing_is_lost();
    }
};

/// The frame of the consuming connection that follows SIGTERM.
When the_daemons_cancel() {
    return sent_by_daemon(60, 30);
}

}  // namespace

TEST_CASE(
    "SIGTERM before the confirms come: the end waits for them, a second SIGTERM changes nothing, none comes twice") {
    Stopping s;
    s.start_in_use();
    Gate gate(s.network, confirm());
    s.stop_with_messages_in_flight(gate);
    s.daemon.signal(SIGTERM);
    CHECK_FALSE(s.daemon.wait(milliseconds(500)).has_value());
    gate.open();
    s.check_ends_and_nothing_is_lost();
    s.check_nothing_came_twice();
    s.stop();
}

TEST_CASE("SIGTERM, and what is in flight is refused: it stays in the error queue, and nothing is lost") {
    Stopping s;
    s.start_in_use();
    SECTION("by nacks") {
        Gate gate(s.network, confirm(), fault::nack());
        s.stop_with_messages_in_flight(gate);
        gate.open();
        s.check_ends_and_nothing_is_lost();
        // The broker had taken what it seemed to refuse.
        CHECK(await([&] { return s.drain_work_queues(), s.came_twice() == in_flight; }));
    }
    SECTION("as unroutable") {
        s.check_goes_on();
        const auto on_its_way = s.network.on(publication(), fault::late(milliseconds(3000)));
        s.reject("returned", s.other);
        REQUIRE(s.network.await_matched(on_its_way));
        s.client.delete_queue(s.rung(s.other, "50ms"));
        s.begin_to_stop();
        s.check_ends_and_nothing_is_lost();
        CHECK(s.daemon.lines_with({"nothing leads to queue '" + s.rung(s.other, "50ms")}) == 1);
        s.check_nothing_came_twice();
    }
    SECTION("by closing the channel with 406") {
        // Were it the only one in flight, it would be the one that the broker refuses, and be set aside.
        s.network.on(publication(1), fault::late(milliseconds(3000)));
        const auto closed = s.network.on(publication(2), fault::then_406());
        s.reject_many(in_flight);
        REQUIRE(s.network.await_matched(closed, 2));
        s.begin_to_stop();
        s.check_ends_and_nothing_is_lost();
        CHECK(s.daemon.lines_with({"the broker closed the publishing channel"}) >= 1);
    }
    s.stop();
}

TEST_CASE("SIGTERM, and connection or consumer are lost: the end comes before the confirms, nothing is lost") {
    Stopping s;
    s.start_in_use();
    Fault with_confirms = fault::none();
    std::string consequence = "Rejected messages wait in the error queue meanwhile";
    SECTION("the publishing connection is cut in the middle of a confirm") {
        with_confirms = fault::cut_in_the_middle();
    }
    SECTION("the consuming connection is cut in the middle of a frame") {
        s.network.on(the_daemons_cancel(), fault::cut_in_the_middle());
    }
    SECTION("the broker cancels the consumer") {
        s.network.on(the_daemons_cancel(), fault::consumer_cancelled());
        consequence = "else rejected messages wait in it";
    }
    SECTION("the broker closes the consuming channel") {
        s.network.on(the_daemons_cancel(), fault::then_406());
    }
    Gate gate(s.network, confirm(), with_confirms);
    s.stop_with_messages_in_flight(gate);
    gate.open();
    s.check_ends_and_nothing_is_lost();
    CHECK(s.daemon.lines_with({consequence}) == 1);
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() == in_flight; }));
    s.stop();
}

TEST_CASE("SIGTERM, and the error queue is deleted: what is in flight comes back once") {
    Stopping s;
    s.start_in_use();
    Gate gate(s.network, confirm());
    s.stop_with_messages_in_flight(gate);
    s.client.delete_queue(s.config.error_queue);
    gate.open();
    s.check_ends_and_nothing_is_lost();
    s.check_nothing_came_twice();
    s.stop();
}

TEST_CASE("SIGTERM, and all permissions are taken away: what is in flight is settled all the same") {
    Publisher user;
    Stopping s;
    s.config.uris = {uri_of(user.through(s.network))};
    s.start_in_use();
    Gate gate(s.network, confirm());
    s.stop_with_messages_in_flight(gate);
    user.set("", "", "");
    gate.open();
    CHECK(s.daemon.wait(patience) == 0);
    user.allow();
    CHECK(s.depth(s.config.error_queue) == 0);
    s.start();
    s.check_nothing_is_lost();
    s.check_nothing_came_twice();
    s.stop();
}

TEST_CASE("kill -9 while the daemon is stopping: all that was in flight comes again, none is lost") {
    Stopping s;
    s.start_in_use();
    const Gate never(s.network, confirm());
    s.stop_with_messages_in_flight(never);
    s.daemon.kill();
    s.network.heal();
    s.start();
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() == in_flight; }));
    s.stop();
}
