// Between the confirm and the ack: the message is safe in its next place, and the error queue does not know it yet.
#include <string>

#include "faults/gate.h"
#include "faults/through_faults.h"
#include "support/alarm.h"

using namespace retryd::test;

namespace {

constexpr int messages = ThroughFaults::under_way_at_least;

}  // namespace

TEST_CASE("kill -9 between confirms and acks: all come again, none is lost") {
    ThroughFaults s;
    s.start();
    const auto missing = s.network.on(every(ack()), fault::swallow());
    s.reject_many(messages);
    REQUIRE(s.network.await_matched(missing));
    REQUIRE(s.await_depth(s.work, messages));
    s.daemon.kill();
    s.network.heal();
    s.start();
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() == messages; }));
    s.stop();
}

TEST_CASE("an ack that costs the channel or the consumer: both are made again, and nothing is lost") {
    ThroughFaults s;
    s.start();
    std::size_t met = 0;
    SECTION("the channel, with 406") {
        met = s.network.on(ack(), fault::then_406());
    }
    SECTION("the consumer") {
        met = s.network.on(ack(), fault::consumer_cancelled());
    }
    s.reject_many(messages);
    REQUIRE(s.network.await_matched(met));
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(1));
    CHECK(s.parked.empty());
    s.stop();
}

TEST_CASE("the consumer is cancelled while publications are in flight: they come again, none is lost") {
    ThroughFaults s;
    s.config.heartbeat = "2s";
    s.start_in_use();
    Gate gate(s.network, confirm());
    s.reject_many(messages);
    REQUIRE(s.await_depth(s.work, messages));
    const auto taken_away = s.network.on(sent_by_broker(60, 60), fault::consumer_cancelled());
    s.reject_many(1);
    REQUIRE(s.network.await_matched(taken_away));
    gate.open();
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() >= messages; }));
    s.check_goes_on();
    CHECK(s.parked.empty());
    CHECK(s.reconnects_as_often_as(1));
    s.stop();
}

TEST_CASE("the error queue is deleted between confirms and acks: its messages are on their way, each comes back once") {
    ThroughFaults s;
    s.start();
    const auto late = s.network.on(ack(), fault::late(milliseconds(3000)));
    s.reject_many(messages);
    REQUIRE(s.network.await_matched(late));
    REQUIRE(s.await_depth(s.work, messages));
    s.client.delete_queue(s.config.error_queue);
    s.check_nothing_is_lost();
    s.check_goes_on();
    s.check_nothing_came_twice();
    s.stop();
}

TEST_CASE(
    "an alarm comes while publications are in flight: they are acked while it lasts, and the rest goes on after it",
    "[own-broker]") {
    const Alarm::Cause cause = GENERATE(Alarm::Cause::memory, Alarm::Cause::disk);
    CAPTURE(name_of(cause));
    constexpr int rejected_again = 3;
    ThroughFaults s;
    s.config.heartbeat = "2s";
    s.config.shutdown_timeout = "1s";
    s.start_in_use();
    Gate gate(s.network, confirm());
    s.reject_many(messages);
    REQUIRE(s.await_depth(s.work, messages));
    Alarm alarm(cause);
    {
        Worker worker(s.work, rejected_again);  // nothing but dead-lettering brings messages now
        for (int i = 0; i < rejected_again; ++i)
            worker.reject(worker.receive());
    }
    REQUIRE(s.daemon.await_log("the broker takes no messages"));
    const auto acked = s.network.on(ack(), fault::none());
    gate.open();
    CHECK(s.network.await_matched(acked));
    s.stop();
    CHECK(s.depth(s.config.error_queue) <= rejected_again);
    alarm.end();
    s.start();
    s.check_nothing_is_lost();
    CHECK(s.came_twice() <= rejected_again);
    s.stop();
}
