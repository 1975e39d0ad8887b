// A work queue that is deleted while its messages wait: what happens to them, and that no others are held up.
#include "support/catch.h"
#include "support/machine.h"
#include "support/queue_depths.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// More than the 32 messages that a quorum queue dead-letters at a time with the strategy at-least-once.
constexpr int doomed_messages = 50;

/// Two work queues; the messages of one wait on a rung when it is deleted.
struct Gone : Scenario {
    Gone() : doomed(work_queue("doomed")), neighbour(work_queue("neighbour")) {}

    void reject_all(const std::string& queue, int messages) {
        Worker worker(queue, 500);
        for (int i = 0; i < messages; ++i)
            client.send("", queue, {.body = queue});
        client.await_confirms();
        for (int i = 0; i < messages; ++i)
            worker.reject(worker.receive());
    }

    /// `rung` is where the messages wait for 12 s: long enough for all of them to be there at once, although on a busy
    /// machine some wait for 2 s on a detour first.
    void delete_while_they_wait(const std::string& rung) {
        REQUIRE(await([&] { return exists(rung); }));  // it is declared beside what the daemon does already
        reject_all(doomed, doomed_messages);
        REQUIRE(await_depth(rung, doomed_messages));
        client.delete_queue(doomed);
    }

    /// Ten messages of the neighbour are retried with the same delay, after those of the deleted queue.
    void check_neighbour_goes_on() {
        Worker worker(neighbour);
        for (int i = 0; i < 10; ++i)
            client.send("", neighbour, {.body = "neighbour"});
        client.await_confirms();
        for (int i = 0; i < 10; ++i)
            worker.reject(worker.receive());
        const Machine machine;
        const Clock::time_point rejected = Clock::now();
        for (int i = 0; i < 10; ++i) {
            const Received back = worker.receive();
            CHECK(back.body == "neighbour");
            CHECK(long_header(back, "retryd-attempt") == 1);
            worker.ack(back);
        }
        CHECK(since(rejected) < seconds(12 + 5) + machine.slack());  // whom the others hold up waits for minutes
    }

    std::string doomed;
    std::string neighbour;
};

/// AMQP does not count those that are being dead-lettered.
bool has(const std::string& queue, std::size_t messages, std::size_t ready) {
    for (const QueueDepth& depth : queue_depths(broker_address().vhost))
        if (depth.queue == queue) return depth.known && depth.messages == messages && depth.ready == ready;
    return false;
}

}  // namespace

TEST_CASE("an exclusive queue under a glob gets no rungs, which would outlive it: its messages are parked as no-entry",
          "[two-versions]") {
    Scenario s;
    const std::string exclusive = s.queue_name("glob.exclusive");
    s.client.declare_exclusive_queue(exclusive, {{"x-dead-letter-exchange", longstr(s.config.error_exchange)}});
    s.retry(s.queue_name("glob.*"), {"100ms"});
    s.start();
    s.client.publish("", exclusive, {.body = "x"});
    const std::optional<Received> message = s.client.get(exclusive);
    REQUIRE(message.has_value());
    s.client.reject(message->tag, false);
    const Received parked = s.take(s.config.catch_all);
    CHECK(parked.body == "x");
    CHECK(text_header(parked, "retryd-parked-reason") == "no-entry");
    CHECK(text_header(parked, "retryd-queue") == exclusive);
    CHECK_FALSE(s.exists(Scenario::rung(exclusive, "100ms")));
    CHECK_FALSE(s.exists(Scenario::parking_of(exclusive)));
    s.stop();
}

TEST_CASE("return: headers, work queue deleted: its messages are parked as queue-gone at once, the neighbour's go on",
          "[slow][one-version]") {
    const bool by_glob = GENERATE(false, true);
    const std::string rungs = by_glob ? "quorum" : "classic";
    CAPTURE(rungs, by_glob);
    Gone s;
    const std::string match = by_glob ? s.queue_name("doom*") : s.doomed;
    const std::string ladder = s.share({match, s.neighbour}, {"12s"}, rungs);
    s.start();
    s.delete_while_they_wait(s.shared_rung(ladder, "12s"));
    s.check_neighbour_goes_on();
    REQUIRE(s.await_depth(s.config.catch_all, doomed_messages));
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "queue-gone");
    CHECK(text_header(parked, "retryd-queue") == s.doomed);
    CHECK(text_header(parked, "retryd-reason") == "rejected");
    CHECK(parked.body == s.doomed);
    CHECK(s.await_depth(s.shared_rung(ladder, "12s"), 0));
    s.stop();
    CHECK(s.depth(s.config.error_queue) == 0);
}

TEST_CASE("return: headers, work queue deleted and made again: it is bound again and its messages are delivered",
          "[slow][one-version]") {
    const std::string rungs = GENERATE(as<std::string>{}, "quorum", "classic");
    CAPTURE(rungs);
    Gone s;
    const std::string ladder = s.share({s.doomed, s.neighbour}, {"12s", "30s"}, rungs);
    s.start();
    s.delete_while_they_wait(s.shared_rung(ladder, "12s"));
    s.work_queue("doomed");
    Worker worker(s.doomed, 500);
    for (int i = 0; i < doomed_messages; ++i) {
        const Received back = worker.receive();
        CHECK(long_header(back, "retryd-attempt") == 1);  // to be bound again is no failure
        CHECK(text_header(back, "retryd-reason") == "rejected");
        CHECK(back.routing_key == s.doomed);
        worker.ack(back);
    }
    CHECK(worker.stays_idle(milliseconds(100)));
    s.check_neighbour_goes_on();
    CHECK(s.depth(s.config.catch_all) == 0);
    s.stop();
}

// Before 3.10 rungs are classic queues, as in the next test.
TEST_CASE("return: queue, quorum rungs, work queue deleted: its messages stay on the rung, the neighbour's go on",
          "[slow][one-version][since-3.10]") {
    Gone s;
    s.retry(s.doomed, {"12s"});
    s.retry(s.neighbour, {"12s"});
    s.start();
    s.delete_while_they_wait(s.rung(s.doomed, "12s"));
    s.check_neighbour_goes_on();
    // The broker counts a quorum queue's messages every five seconds.
    CHECK(await([&] { return has(s.rung(s.doomed, "12s"), doomed_messages, 0); }));
    CHECK(s.depth(s.config.catch_all) == 0);
    s.stop();
}

TEST_CASE("return: queue, classic rungs, work queue deleted: the broker loses its messages, the neighbour's go on",
          "[two-versions]") {
    Gone s;
    s.retry(s.doomed, {"12s"}, "classic");
    s.retry(s.neighbour, {"12s"}, "classic");
    s.start();
    s.delete_while_they_wait(s.rung(s.doomed, "12s"));
    s.check_neighbour_goes_on();
    CHECK(await([&] { return has(s.rung(s.doomed, "12s"), 0, 0); }));
    CHECK(s.depth(s.config.catch_all) == 0);
    CHECK(s.depth(s.parking_of(s.doomed)) == 0);
    s.stop();
}
