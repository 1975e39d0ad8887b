// Held messages survive what ends retryd or the broker, in each phase: while they are held, probed, and sent home.
#include <functional>
#include <optional>

#include "broker/held_scene.h"
#include "support/broker_queue.h"
#include "support/full_queue.h"
#include "support/hanging_queue.h"
#include "support/leaderless_queue.h"
#include "support/machine.h"
#include "support/served.h"

using namespace retryd::test;

namespace {

constexpr int held_in_each_phase = 60;

/// `strike` ends something and waits until it works again, with a daemon of the configuration as it is by then. After a
/// start held messages are probed first: nobody knows whether the outage is over.
void strike_in_each_phase(HeldScene& s, const std::function<void()>& strike) {
    s.start();
    s.fill(held_in_each_phase);
    s.hold_by_itself();
    strike();  // while they are held
    REQUIRE(s.daemon.await_log("an outage"));
    std::optional<Worker> worker(s.work);
    for (int probes = 0; probes < 2; ++probes)
        worker->reject(worker->receive());
    worker.reset();
    strike();  // while they are probed
    worker.emplace(s.work);
    worker->reject(worker->receive());
    s.take_home(*worker, 10);
    REQUIRE(s.daemon.await_log("sending home what is held"));
    worker.reset();
    strike();  // while they are sent home
    worker.emplace(s.work);
    s.take_home(*worker, held_in_each_phase);
    for (const auto& [body, attempt] : s.attempts)
        CHECK(attempt == 0);
    CHECK(s.daemon.await_log("is held any more"));
    s.stop();
    Client client(broker_address());
    for (const std::string& queue : {s.parking_of(s.work), s.config.catch_all}) {
        CAPTURE(queue);
        const auto parked = client.look_at(queue);
        CHECK((!parked || parked->messages == 0));
    }
}

/// The broker calls the queue of held messages empty meanwhile.
struct TakenAwayScene : HeldScene {
    explicit TakenAwayScene(int held) : served(daemon), shown("retryd_held_messages{queue=\"" + work + "\"}") {
        config.http = "127.0.0.1:0";
        config.management_url = management_url();
        retry(work_queue("other"), {"1s"});
        start();
        fill(held);
        REQUIRE(served.await_metric(shown, held));
    }
    /// The broker is asked every second how many there are.
    bool given_up() {
        return await([&] { return served.metric(shown) == 0 || daemon.lines_with({"is held any more"}) > 0; },
                     seconds(4));
    }
    void take_entry_away() {
        config.entries.erase(config.entries.begin());
        reload_and_await();
    }

    Served served;
    std::string shown;
};

}  // namespace

TEST_CASE("kill -9 while messages are held, probed and sent home: none is lost, none pays with an attempt",
          "[night][one-version]") {
    HeldScene s;
    strike_in_each_phase(s, [&] {
        s.daemon.kill();
        s.start();
    });
}

TEST_CASE("a restart of the broker while messages are held, probed and sent home: none is lost, none pays",
          "[own-broker][night]") {
    HeldScene s;
    bool first = true;
    strike_in_each_phase(s, [&] {
        if (std::exchange(first, false)) s.stop();  // only a start probes what was held by hand
        control_broker("restart");
        Client again(broker_address());
        if (!s.daemon.running()) s.daemon.start(s.config.yaml());
        REQUIRE(await(
            [&] {
                const auto errors = again.look_at(s.config.error_queue);
                return errors && errors->consumers > 0;
            },
            seconds(60)));
    });
}

TEST_CASE("a reload that takes the entry away: what is held goes home, and what fails again is parked as no-entry",
          "[one-version]") {
    HeldScene s;
    s.config.management_url = management_url();
    const std::string other = s.work_queue("other");
    s.retry(other, {"1s"});
    s.start();
    s.fill(3);
    s.config.entries.erase(s.config.entries.begin());
    s.reload();
    Worker worker(s.work);
    worker.reject(worker.receive());
    s.take_home(worker, 2);
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "no-entry");
    CHECK(s.daemon.await_log("is held any more"));
    s.stop();
}

TEST_CASE("a reload takes the entry away while the held messages cannot be counted: they go home later",
          "[one-version]") {
    TakenAwayScene s(3);
    SECTION("their queue hangs") {
        HangingQueue hang(held_of(s.work));
        CHECK_FALSE(s.given_up());
        s.take_entry_away();
    }
    SECTION("their queue has no leader") {
        LeaderlessQueue leaderless(held_of(s.work));
        CHECK_FALSE(s.given_up());
        s.take_entry_away();
    }
    Worker worker(s.work);
    s.take_home(worker, 3);
    CHECK(s.daemon.await_log("is held any more"));
    s.stop();
}

TEST_CASE("a reload takes the entry away while all are on their way home and their queue has no leader: none stays",
          "[one-version]") {
    constexpr int messages = 60;  // a consumer of 64 has all of them in hand
    TakenAwayScene s(messages);
    EntrySpec& entry = s.config.entries.front();
    entry.outage = "{of: 1000, within: 5s, probe: 1s, release: 1/s}";
    entry.hold = false;
    s.reload_and_await();
    const auto counted_on_their_way = [&] {
        const double held = s.served.metric(s.shown);
        return held > 0 && held < messages;
    };
    REQUIRE(await(counted_on_their_way));
    {
        LeaderlessQueue leaderless(held_of(s.work));
        s.take_entry_away();
        CHECK_FALSE(s.given_up());
    }
    Worker worker(s.work);
    s.take_home(worker, messages);
    CHECK(s.daemon.await_log("is held any more"));
    s.stop();
}

TEST_CASE("a reload takes the entry away, and somebody else's message is among the held ones and stays",
          "[one-version]") {
    HeldScene s;
    s.retry(s.work_queue("other"), {"1s"});
    s.start();
    s.fill(2);
    s.client.publish("", held_of(s.work), {.body = "theirs", .headers = {{"retryd-queue", longstr(s.work)}}});
    REQUIRE(s.await_depth(held_of(s.work), 3));
    s.config.entries.erase(s.config.entries.begin());
    s.reload();
    Worker worker(s.work);
    s.take_home(worker, 2);
    CHECK(s.daemon.await_log("cannot be sent home"));
    CHECK(worker.stays_idle(milliseconds(500)));
    CHECK(s.await_depth(held_of(s.work), 1));
    CHECK(s.daemon.lines_with({"is held any more"}) == 0);
    s.stop();
}

TEST_CASE("a start without the entry: what is held stays until an entry matches again", "[slow][one-version][night]") {
    HeldScene s;
    const Machine machine;
    const std::string other = s.work_queue("other");
    SECTION("the management API finds it") {
        s.config.management_url = management_url();
    }
    SECTION("AMQP alone") {}
    s.retry(other, {"1s"});
    s.start();
    s.fill(3);
    s.stop();
    const auto entry = s.config.entries.front();
    s.config.entries.erase(s.config.entries.begin());
    s.start();
    Worker worker(s.work);
    // Within a minute: the first two looks may come before RabbitMQ has counted.
    if (!s.config.management_url.empty())
        CHECK(s.daemon.await_log("3 messages held in '" + held_of(s.work) + "' cannot be sent home",
                                 seconds(70) + machine.slack()));
    CHECK(worker.stays_idle(seconds(3)));
    CHECK(s.await_depth(held_of(s.work), 3));  // while somebody looks, they are not ready
    s.config.entries.push_back(entry);
    s.config.entries.back().hold = false;
    s.reload();
    s.take_home(worker, 3);
    CHECK(s.copies() == 3);
    s.stop();
}

TEST_CASE("reloads in the midst of the release, one of which holds again: in order, and nothing comes twice",
          "[one-version]") {
    constexpr int messages = 250;  // for some seconds: a busy machine reloads within that time, too
    HeldScene s;
    s.config.management_url = management_url();
    // For the rate, which is 50/s without: so few messages are no outage.
    s.entry().outage = "{of: 1000, within: 5s, probe: 1s, release: 20/s}";
    s.start();
    s.fill(messages);
    s.take_away();
    Worker worker(s.work);
    s.take_home(worker, 20);
    s.config.prefetch = 100;
    s.reload();
    s.take_home(worker, 30);
    const int before = s.daemon.lines_with({"holding what fails"});
    s.entry().hold = true;
    s.reload();
    REQUIRE(await([&] { return s.daemon.lines_with({"holding what fails"}) > before; }));
    while (const auto message = worker.client.next(milliseconds(500))) {  // what was under way
        s.order.push_back(std::stoi(message->body));
        ++s.times[message->body];
        worker.ack(*message);
    }
    CHECK(s.depth(held_of(s.work)) > 0);
    s.entry().hold = false;
    s.reload();
    s.take_home(worker, messages);
    CHECK(s.copies() == messages);
    CHECK(s.in_order());
    s.stop();
}

TEST_CASE("two daemons, and one after the other is told that the entry is gone: nothing is lost", "[one-version]") {
    HeldScene s;
    s.retry(s.work_queue("other"), {"1s"});
    s.start();
    REQUIRE(await([&] { return takes_messages(held_of(s.work)); }));
    Daemon second;
    second.start(s.config.yaml());
    REQUIRE(await([&] { return s.client.look_at(s.config.error_queue)->consumers == 2; }));
    s.fill(10);
    s.config.entries.erase(s.config.entries.begin());
    s.reload();
    Worker worker(s.work);
    s.take_home(worker, 10);
    CHECK(s.daemon.await_log("is held any more"));
    second.reload(s.config.yaml());
    CHECK(second.await_log("is held any more"));
    CHECK(s.copies() == 10);
    CHECK(second.terminate() == 0);
    s.stop();
}

// Before 3.10 quorum queues do not refuse.
TEST_CASE("one work queue's messages cannot be held, many of them: another one's are retried in time",
          "[one-version][since-3.10]") {
    constexpr int failing = 100;
    HeldScene s;
    const std::string other = s.quorum_work_queue("other");
    s.retry(other, {"100ms"});
    s.start();
    REQUIRE(await([&] { return takes_messages(held_of(s.work)); }));
    Worker neighbour(other);
    s.client.publish("", other, {.body = "0"});  // its rung is there, and has taken one
    neighbour.reject(neighbour.receive());
    neighbour.ack(neighbour.receive());
    {
        const FullQueue full(held_of(s.work));
        const Machine machine;
        Worker worker(s.work, 500);
        s.send(failing);
        s.reject(worker, failing);
        for (int i = 0; i < 5; ++i) {
            s.client.publish("", other, {.body = "0"});
            const Received first = neighbour.receive();
            const Clock::time_point failed = Clock::now();
            neighbour.reject(first);
            const Received back = neighbour.receive();
            CHECK(since(failed) < milliseconds(1'100) + machine.slack());
            neighbour.ack(back);
        }
    }
    Worker worker(s.work, 500);
    s.config.entries.front().hold = false;
    s.reload();
    int home = 0;
    while (home < failing) {
        const Received message = worker.receive();
        if (message.body != "filling") ++home;
        worker.ack(message);
    }
    s.stop();
}
