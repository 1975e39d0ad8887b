// Hold by hand: what fails is held with its attempt unspent, and goes home when the hold is taken away.
#include <algorithm>

#include "broker/held_scene.h"
#include "support/hanging_queue.h"

using namespace retryd::test;

TEST_CASE("what fails is held, and a reload sends it home: in its order, its attempt unspent, no faster than it may",
          "[one-version]") {
    constexpr int messages = 100;
    HeldScene s;
    s.start();
    s.fill(messages);
    Worker worker(s.work);
    CHECK(worker.stays_idle(milliseconds(500)));
    const Clock::time_point begin = Clock::now();
    s.take_away();
    s.take_home(worker, messages);
    CHECK(since(begin) > milliseconds(1'500));  // 50 a second to begin with
    CHECK(s.in_order());
    CHECK(s.copies() == messages);
    for (const auto& [body, attempt] : s.attempts)
        CHECK(attempt == 0);
    CHECK(s.await_depth(held_of(s.work), 0));
    CHECK(s.daemon.await_log("nothing of '" + s.work + "' is held any more"));
    s.stop();
}

TEST_CASE("what comes home from a rung and fails again is held with the attempts that it had", "[3.8][one-version]") {
    HeldScene s;
    s.entry().hold = false;
    s.start();
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "0"});
    worker.reject(worker.receive());
    const Received again = worker.receive();
    CHECK(long_header(again, "retryd-attempt") == 1);
    s.entry().hold = true;
    s.reload_and_await();
    worker.reject(again);
    REQUIRE(s.await_depth(held_of(s.work), 1));
    s.take_away();
    const Received home = worker.receive();
    CHECK(long_header(home, "retryd-attempt") == 1);
    worker.reject(home);
    const Received second = worker.receive();
    CHECK(long_header(second, "retryd-attempt") == 2);
    worker.ack(second);
    s.stop();
}

TEST_CASE("a restart between: held messages are found and sent home although nothing holds any more", "[one-version]") {
    HeldScene s;
    s.start();
    s.fill(20);
    s.stop();
    s.entry().hold = false;
    s.start();
    Worker worker(s.work);
    s.take_home(worker, 20);
    CHECK(s.copies() == 20);
    CHECK(s.in_order());
    s.stop();
}

// RabbitMQ counts no messages in a quorum queue that does not answer.
TEST_CASE("a restart between, and the held queue hangs at first: its messages come home soon after it goes on",
          "[one-version]") {
    HeldScene s;
    s.start();
    s.fill(20);
    s.stop();
    s.entry().hold = false;
    HangingQueue hang(held_of(s.work));
    s.start();
    Worker worker(s.work);
    CHECK(worker.stays_idle(milliseconds(3'500)));
    hang.end();
    const Clock::time_point begin = Clock::now();
    s.take_home(worker, 20);
    CHECK(since(begin) < seconds(20));
    s.stop();
}

TEST_CASE("a restart between, and the entry is a glob that does not hold: the management API finds held messages",
          "[one-version]") {
    HeldScene s;
    s.config.management_url = management_url();
    s.start();
    s.fill(20);
    s.stop();
    s.entry().match = s.queue_name("*");
    s.entry().hold = false;
    s.start();
    Worker worker(s.work);
    // It looks at once, after 6 s and after 66 s: the first two looks may come before RabbitMQ has counted.
    REQUIRE(s.daemon.await_log("sending home what is held in '" + held_of(s.work) + "'", seconds(90)));
    s.take_home(worker, 20);
    CHECK(s.copies() == 20);
    s.stop();
}

TEST_CASE("kill -9 in the midst of the release: nothing is lost", "[one-version]") {
    constexpr int messages = 400;
    HeldScene s;
    s.start();
    s.fill(messages);
    s.take_away();
    Worker worker(s.work);
    for (int kills = 1; kills <= 3; ++kills) {
        s.take_home(worker, kills * 60);
        s.daemon.kill();
        s.start();
    }
    s.take_home(worker, messages);
    CHECK(s.copies() <= messages + 3 * 64);
    s.stop();
}

TEST_CASE("two daemons: one of them releases, in order, and nothing comes twice", "[one-version]") {
    constexpr int messages = 200;
    HeldScene s;
    s.start();
    s.fill(messages);  // by one of them: two would hold them in another order
    Daemon second;
    second.start(s.config.yaml());
    REQUIRE(await([&] { return s.client.look_at(s.config.error_queue)->consumers == 2; }));
    s.take_away();
    second.reload(s.config.yaml());
    Worker worker(s.work);
    s.take_home(worker, messages);
    CHECK(s.copies() == messages);
    CHECK(s.in_order());
    CHECK(second.terminate() == 0);
    s.stop();
}

TEST_CASE("the work queue is gone when its messages are released: they are parked in the catch-all as queue-gone",
          "[two-versions]") {
    HeldScene s;
    s.start();
    s.fill(5);
    s.client.delete_queue(s.work);
    s.take_away();
    REQUIRE(s.await_depth(s.config.catch_all, 5));
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "queue-gone");
    CHECK(text_header(parked, "retryd-queue") == s.work);
    CHECK(find(parked.headers, "retryd-held-since") == nullptr);
    CHECK(s.daemon.await_log("messages from '" + s.work + "' that were held begin to be parked"));
    s.stop();
    CHECK(s.daemon.lines_with({"warning", s.config.catch_all, "queue-gone", "retryd parked list"}) == 1);
}

TEST_CASE("a shared ladder: held messages come home with the producer's routing key", "[one-version]") {
    HeldScene s;
    s.config.ladders.clear();
    s.config.entries.clear();
    s.share({s.work}, {"100ms"});
    s.entry().hold = true;
    s.start();
    s.client.declare_exchange(s.exchange_name("orders"), "topic");
    s.client.bind(s.work, s.exchange_name("orders"), "order.#");
    Worker worker(s.work);
    s.client.publish(s.exchange_name("orders"), "order.paid", {.body = "0"});
    worker.reject(worker.receive());
    REQUIRE(s.await_depth(held_of(s.work), 1));
    s.take_away();
    const Received home = worker.receive();
    CHECK(home.routing_key == "order.paid");
    worker.ack(home);
    s.stop();
}
