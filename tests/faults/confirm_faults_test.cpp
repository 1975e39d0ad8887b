// The broker's answer to a publication: lost, late, doubled, a refusal, or not before the connection is.
#include <algorithm>
#include <utility>
#include <vector>

#include "faults/broker_setting.h"
#include "faults/through_faults.h"
#include "support/machine.h"

using namespace retryd::test;

TEST_CASE("a confirm that comes late, with all behind it: nothing comes twice, and no connection is given up") {
    ThroughFaults s;
    s.start();
    const auto late = s.network.on(confirm(), fault::late(milliseconds(2500)));
    s.reject_many(50);
    s.check_nothing_is_lost();
    s.check_nothing_came_twice();
    CHECK(s.network.matched(late) > 0);
    CHECK(s.reconnects() == 0);
    s.stop();
}

TEST_CASE("a confirm that comes twice settles nothing else") {
    ThroughFaults s;
    s.start();
    const auto doubled = s.network.on(every(confirm()), fault::twice());
    for (int i = 0; i < 10; ++i)
        s.reject_many(10);
    s.check_nothing_is_lost();
    s.check_nothing_came_twice();
    CHECK(s.network.matched(doubled) > 0);
    CHECK(s.reconnects() == 0);
    s.stop();
}

TEST_CASE("a nack in place of a confirm: its messages come again from the error queue, the others go on") {
    ThroughFaults s;
    s.start();
    const auto refused = s.network.on(confirm(), fault::nack());
    s.reject_many(100);
    REQUIRE(s.network.await_matched(refused));
    CHECK(s.daemon.await_log("nacked"));
    s.check_nothing_is_lost();
    // The broker had taken what it seemed to refuse: given back and tried again, it is there twice.
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() > 0; }));
    s.check_goes_on();
    CHECK(s.reconnects() == 0);
    s.stop();
}

TEST_CASE("a rung that is full: the broker refuses, the messages wait on detours and go when there is room", "[slow]") {
    ThroughFaults s;
    s.ladder().delays = {"2s"};  // the other queue's
    s.start();
    const std::string rung = s.rung(s.other, "2s");
    // Before it has a leader a queue may not hear of its policy (3.10): then it holds no message either.
    s.reject("first0", s.other);
    REQUIRE(await([&] { return s.depth(rung) == 1; }));
    const QueuePolicy narrow(rung, R"({"max-length":1,"overflow":"reject-publish"})");
    for (int i = 1; i < 3; ++i)
        s.reject("first" + std::to_string(i), s.other);
    const auto refused = [&] { return s.daemon.lines_with({"(nacked) a message for queue '" + rung + "'"}) > 0; };
    REQUIRE(await([&] { return s.depth(rung) > 1 || refused(); }));  // a quorum queue refuses when over its limit
    // What is on the rung returns after its delay, so that there is room again: more come until one is refused.
    int tries = 0;
    REQUIRE(await(
        [&] {
            s.reject("narrow" + std::to_string(tries++), s.other);
            return refused();
        },
        patience, milliseconds(100)));
    s.reject_many(50);
    s.check_nothing_is_lost();
    CHECK(s.reconnects() == 0);
    s.stop();
}

TEST_CASE("the connection breaks between a publication and its confirm: the message comes again, none is lost") {
    ThroughFaults s;
    s.start();
    const auto cut = s.network.on(confirm(2), fault::cut());
    s.reject_many(300);
    REQUIRE(s.network.await_matched(cut, 2));
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() > 0; }));
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(1));
    s.stop();
}

TEST_CASE("kill -9 between publications and their confirms: all come again, none is lost") {
    ThroughFaults s;
    s.start();
    const auto missing = s.network.on(every(confirm()), fault::swallow());
    s.reject_many(50);
    REQUIRE(s.network.await_matched(missing));
    s.daemon.kill();
    s.network.heal();
    s.start();
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() > 0; }));
    s.stop();
}

TEST_CASE("SIGTERM while confirms are missing: the end comes in time and says what may come twice, none is lost") {
    ThroughFaults s;
    s.config.shutdown_timeout = "1s";
    s.start();
    const auto missing = s.network.on(every(confirm()), fault::swallow());
    s.reject_many(50);
    REQUIRE(s.network.await_matched(missing));
    const Machine machine;
    const Clock::time_point start = Clock::now();
    CHECK(s.daemon.terminate() == 0);
    CHECK(since(start) < milliseconds(2000) + machine.slack());
    CHECK(s.daemon.lines_with({"has not confirmed", "nothing is lost, some may come twice"}) == 1);
    s.network.heal();
    s.start();
    s.check_nothing_is_lost();
    CHECK(await([&] { return s.drain_work_queues(), s.came_twice() > 0; }));
    s.stop();
}

TEST_CASE("the connection breaks while what a shared rung could not deliver is returned, and nothing is lost") {
    ThroughFaults s;
    s.config.ladders.clear();
    s.config.entries.clear();
    const std::string ladder = s.share({s.work, s.other}, {"5s"});
    s.start();
    s.await_declared();  // else some take a detour
    s.reject_many(20);
    REQUIRE(s.await_depth(s.shared_rung(ladder, "5s"), 20));
    s.client.delete_queue(s.work);  // its binding is gone too
    s.work_queue("work");
    const auto cut = s.network.on(confirm(), fault::cut());
    s.check_nothing_is_lost();
    REQUIRE(s.network.await_matched(cut));
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(1));
    s.stop();
}

TEST_CASE("a confirm that never comes: its message stays in the error queue, the others go on, no connection is lost",
          "[slow]") {
    ThroughFaults s;
    s.config.shutdown_timeout = "1s";
    s.start();
    const auto lost = s.network.on(confirm(), fault::swallow());
    s.reject_many(1);
    REQUIRE(s.network.await_matched(lost));
    for (int i = 0; i < 10; ++i) {
        s.reject_many(1);
        s.check_nothing_is_lost();
    }
    CHECK(s.daemon.await_log("does not confirm messages for queue '" + s.rung(s.work, "50ms") + "'"));
    s.reject_many(50);
    s.check_nothing_is_lost();
    CHECK(s.daemon.await_log("'" + s.rung(s.work, "50ms") + "' takes messages again"));
    s.check_nothing_came_twice();
    CHECK(s.reconnects() == 0);
    s.stop();
    CHECK(s.daemon.lines_with({"has not confirmed 1 messages", "nothing is lost, some may come twice"}) == 1);
    CHECK(s.await_depth(s.config.error_queue, 1));
    s.start();
    CHECK(await([&] { return s.drain_work_queues(), s.copies.at("0-0") == 2; }));
    CHECK(s.came_twice() == 1);
    s.stop();
}

TEST_CASE("a broker that answers nothing at all, but lives: after two minutes a new connection, and nothing is lost",
          "[slow][night]") {
    constexpr milliseconds patience_with_it = seconds(120);
    ThroughFaults s;
    s.start_in_use();
    const auto confirms = s.network.on(every(confirm()), fault::swallow());
    // Channels are opened and closed, exchanges and queues declared and bound in vain, too.
    std::vector<std::size_t> answers;
    for (const auto& [of_class, number] : {std::pair{20, 11}, {20, 41}, {40, 11}, {50, 11}, {50, 21}}) {
        const auto answer = sent_by_broker(static_cast<std::uint16_t>(of_class), static_cast<std::uint16_t>(number));
        answers.push_back(s.network.on(every(answer), fault::swallow()));
    }
    s.reject_many(100);
    REQUIRE(s.network.await_matched(confirms));
    CHECK_FALSE(s.daemon.await_log("nor answered anything else", patience_with_it - seconds(20)));
    CHECK(s.reconnects() == 0);
    REQUIRE(s.daemon.await_log("nor answered anything else", seconds(20) + patience));
    CHECK(
        std::any_of(answers.begin(), answers.end(), [&](std::size_t answer) { return s.network.matched(answer) > 0; }));
    s.network.heal();
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects() >= 1);
    CHECK(s.parked.empty());
    s.stop();
}
