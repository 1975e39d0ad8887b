// Queues of somebody else's that only look like one of held messages: nothing of theirs is touched, and their messages
// are not looked at so often that a delivery limit throws them out.
#include <functional>
#include <string>

#include "broker/held_scene.h"
#include "support/broker_queue.h"
#include "support/environment.h"
#include "support/full_queue.h"

using namespace retryd::test;

namespace {

/// RabbitMQ gives nothing out of a queue with a single active consumer but to a consumer.
Received taken_from(const std::string& queue) {
    Worker one(queue, 1);
    Received message = one.receive();
    one.ack(message);
    return message;
}

/// Whether another connection may use that queue, or make it: it is not, or not any more, a connection's own.
bool is_free(Client& client, const std::string& queue) {
    try {
        client.look_at(queue);
        return true;
    } catch (const Refused& refused) {
        constexpr int resource_locked = 405;
        if (refused.code() != resource_locked) throw;
        return false;
    }
}

void purge(const std::string& queue) {
    erlang("begin {ok, Q} = " + erlang_lookup(queue) + ", rabbit_amqqueue:purge(Q) end.");
}

struct ForeignScene : Scenario {
    /// A queue of theirs by the name of one of held messages, with one message.
    explicit ForeignScene(const Table& arguments) : work(quorum_work_queue("work")) {
        Table all{{"x-queue-type", longstr("quorum")}, {"x-single-active-consumer", boolean(true)}};
        all.insert(all.end(), arguments.begin(), arguments.end());
        theirs = plain_queue("work.held", all);
        client.publish("", theirs, {.body = "theirs", .headers = {{"retryd-queue", longstr(work)}}});
    }

    /// So many times somebody looks what an earlier run may have left: at each start and with each reload.
    void look_around(int starts, int reloads) {
        Worker worker(work);
        for (int i = 0; i < starts; ++i) {
            start();
            CHECK(worker.stays_idle(milliseconds(2'500)));
            for (int j = 0; j < reloads; ++j) {
                config.prefetch = 100 + 10 * i + j;  // another configuration each time
                reload();
                CHECK(worker.stays_idle(milliseconds(500)));
            }
            CHECK(daemon.lines_with({"is held any more"}) == 0);
            CHECK(daemon.lines_with({"sending home"}) == 0);
            stop();
        }
    }
    /// It is still there; how often it has been given to somebody before.
    std::int64_t looks() {
        const Received message = taken_from(theirs);
        CHECK(message.body == "theirs");
        return find(message.headers, "x-delivery-count") == nullptr ? 0 : long_header(message, "x-delivery-count");
    }

    std::string work;
    std::string theirs;
};

}  // namespace

TEST_CASE("a queue of somebody else's with the name of one of held messages: nothing of it is looked at",
          "[night][one-version]") {
    SECTION("AMQP alone, an entry that does not hold") {
        ForeignScene s({{"x-delivery-limit", int32(20)}});
        s.retry(s.work, {"100ms"});
        s.look_around(2, 2);
        CHECK(s.looks() == 0);
    }
    SECTION("with the management API, and an entry that matches everything and holds") {
        ForeignScene s({{"x-delivery-limit", int32(20)}});
        s.config.management_url = management_url();
        s.retry(s.queue_name("*"), {"100ms"});
        s.entry().outage = "{of: 20, within: 5s, probe: 1s}";
        s.look_around(2, 2);
        CHECK(s.looks() == 0);
    }
    SECTION("an entry that holds in that very queue") {
        ForeignScene s({{"x-delivery-limit", int32(20)}});
        s.config.management_url = management_url();
        s.retry(s.work, {"100ms"});
        s.entry().outage = "{of: 20, within: 5s, probe: 1s}";
        s.look_around(2, 2);
        CHECK(s.looks() == 0);
    }
}

// Before 3.10 retryd's own has no other arguments than every quorum queue with a single active consumer.
TEST_CASE("an entry holds in a queue that somebody else has declared otherwise: nothing of it is looked at",
          "[one-version][since-3.10]") {
    ForeignScene s({{"x-delivery-limit", int32(20)}});
    s.config.management_url = management_url();
    s.retry(s.work, {"100ms"});
    s.entry().outage = "{of: 20, within: 5s, probe: 1s}";
    s.look_around(1, 1);
    CHECK(s.looks() == 0);
}

// Before 3.10 it has all of retryd's.
TEST_CASE(
    "without the arguments of retryd's but those that every version has, and messages of theirs, gets one look a run",
    "[one-version][since-3.10]") {
    ForeignScene s({});
    s.config.management_url = management_url();
    s.retry(s.work, {"100ms"});
    s.entry().outage = "{of: 20, within: 5s, probe: 1s}";
    s.look_around(2, 1);
    CHECK(s.looks() <= 2);
}

TEST_CASE(
    "a queue by the name of one of held messages that a connection keeps to itself, until it ends and retryd reloads",
    "[one-version]") {
    HeldScene s;
    const std::string theirs = held_of(s.work);
    {
        Client stranger(broker_address());
        stranger.declare_exclusive_queue(theirs);
        s.start();
        REQUIRE(await([&] { return s.daemon.lines_with({"refused to declare", theirs, "RESOURCE_LOCKED"}) == 1; }));
    }
    // RabbitMQ 4.3.6 says that a connection is closed some milliseconds before its queue is gone.
    REQUIRE(await([&] { return is_free(s.client, theirs); }));
    // Without the reload that takes a minute.
    s.reload();
    REQUIRE(await([&] { return s.daemon.lines_with({theirs, "is as it must be again"}) == 1; }, milliseconds(30'000)));
    s.fill(2);
    s.take_away();
    Worker worker(s.work);
    s.take_home(worker, 2);
    s.stop();
}

TEST_CASE("a queue that retryd has made, and a message of somebody else's in it: one look, and the log says so",
          "[one-version]") {
    HeldScene s;
    s.start();
    s.fill(1);
    s.stop();
    taken_from(held_of(s.work));
    s.client.publish("", held_of(s.work), {.body = "theirs", .headers = {{"retryd-queue", longstr(s.work)}}});
    s.entry().hold = false;
    s.start();
    REQUIRE(s.daemon.await_log("cannot be sent home"));
    Worker worker(s.work);
    for (int i = 0; i < 3; ++i) {
        s.config.prefetch = 100 + i;
        s.reload();
        CHECK(worker.stays_idle(milliseconds(500)));
    }
    CHECK(s.daemon.lines_with({"is held any more"}) == 0);
    const Received message = taken_from(held_of(s.work));
    CHECK(message.body == "theirs");
    CHECK(long_header(message, "x-delivery-count") == 1);
    s.stop();
}

// Before 3.10 quorum queues do not refuse.
TEST_CASE("a reload ends the hold while the queue of held messages is full: nobody has paid",
          "[one-version][since-3.10]") {
    HeldScene s;
    s.start();
    REQUIRE(await([&] { return takes_messages(held_of(s.work)); }));
    Worker worker(s.work);
    {
        const FullQueue full(held_of(s.work));
        const auto on_detours = [&] {
            std::uint32_t sum = 0;
            for (const char* const detour : {"retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"})
                sum += s.depth(detour);
            return sum;
        };
        s.send(3);
        s.reject(worker, 3);
        REQUIRE(await([&] { return on_detours() == 3; }));
        purge(held_of(s.work));  // what has filled it
        // One that comes from its detour just now finds it empty.
        REQUIRE(await([&] { return s.depth(held_of(s.work)) + on_detours() == 3; }));
        s.entry().hold = false;
        s.reload_and_await();
    }
    s.take_home(worker, 3);
    for (const auto& [body, attempt] : s.attempts)
        CHECK(attempt == 0);
    s.stop();
}
