// The broker cannot be reached: at the start, for a while, or for good.
#include <csignal>
#include <set>

#include "support/catch.h"
#include "support/machine.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/tcp_relay.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A daemon that reaches the broker through a relay.
struct BehindRelay : Scenario {
    BehindRelay() : network(broker_address()), work(work_queue("work")) {
        config.uris = {uri_of(network.address())};
        retry(work, {"100ms"});
    }

    void check_retries(const std::string& body) {
        Worker worker(work);
        client.publish("", work, {.body = body});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(back.body == body);
        worker.ack(back);
    }

    TcpRelay network;
    std::string work;
};

}  // namespace

TEST_CASE("started while no broker listens, the daemon keeps trying and works as soon as one does", "[one-version]") {
    BehindRelay s;
    s.daemon.start(s.config.yaml());
    REQUIRE(s.daemon.await_log("127.0.0.1:" + std::to_string(s.network.address().port)));
    CHECK(s.daemon.running());
    CHECK_FALSE(s.exists(s.config.error_queue));
    s.network.open();
    REQUIRE(await([&] { return s.consuming(); }));
    s.check_retries("x");
    s.stop();
}

TEST_CASE("of several uris a dead first one does not matter", "[one-version]") {
    BehindRelay s;
    s.config.uris.push_back(uri_of(broker_address()));
    s.start();
    s.check_retries("x");
    s.stop();
}

TEST_CASE("when its broker goes away the daemon goes on with the next uri", "[one-version]") {
    BehindRelay s;
    TcpRelay second(broker_address());
    second.open();
    s.network.open();
    s.config.uris.push_back(uri_of(second.address()));
    s.start();
    REQUIRE(s.network.connections() > 0);
    REQUIRE(second.connections() == 0);
    s.network.close();
    REQUIRE(await([&] { return second.connections() > 0 && s.consuming(); }));
    s.check_retries("x");
    s.stop();
}

TEST_CASE("after a lost connection the daemon declares again and goes on", "[one-version]") {
    BehindRelay s;
    s.network.open();
    s.start();
    s.await_declared();
    s.check_retries("before");
    s.network.close();
    REQUIRE(await([&] { return !s.consuming(); }));
    s.delete_declared(s.rung(s.work, "100ms"));
    s.delete_declared(s.parking_of(s.work));
    s.delete_declared(s.config.error_queue);
    s.client.delete_exchange(s.config.error_exchange);
    s.network.open();
    REQUIRE(await([&] { return s.consuming(); }));
    s.check_retries("after");
    CHECK(await([&] { return s.exists(s.parking_of(s.work)); }));
    s.stop();
}

TEST_CASE("connections lost under load lose no message", "[one-version]") {
    constexpr int messages = 1500;
    BehindRelay s;
    s.network.open();
    s.start();
    Worker worker(s.work, 200);
    for (int i = 0; i < messages; ++i)
        s.client.send("", s.work, {.body = std::to_string(i), .properties = {.delivery_mode = 2}});
    s.client.await_confirms();
    std::set<std::string> returned;
    int cuts = 0;
    int deliveries = 0;
    while (returned.size() < messages) {
        const auto message = worker.client.next(patience);
        INFO(returned.size() << " of " << messages << " messages came back, then nothing for 15 s");
        REQUIRE(message.has_value());
        if (find(message->headers, "retryd-attempt") != nullptr) {
            returned.insert(message->body);
            worker.ack(*message);
        } else {
            worker.reject(*message);
        }
        if (++deliveries % 400 == 0 && cuts < 4) {
            s.network.cut();
            ++cuts;
        }
    }
    CHECK(cuts == 4);
    CHECK(returned.size() == messages);
    s.stop();
}

TEST_CASE("a network that swallows everything is noticed by the heartbeat, and the daemon goes on afterwards",
          "[one-version]") {
    BehindRelay s;
    s.config.heartbeat = "1s";
    s.network.open();
    s.start();
    s.network.hold();
    s.client.publish("", s.work, {.body = "x"});
    Worker worker(s.work);
    worker.reject(worker.receive());
    REQUIRE(await([&] { return !s.consuming(); }));
    s.network.cut();
    s.network.resume();
    CHECK(worker.receive().body == "x");
    s.stop();
}

TEST_CASE("SIGTERM while the broker is down ends the daemon promptly with exit code 0", "[threads][one-version]") {
    BehindRelay s;
    const Machine machine;
    SECTION("it never was there") {
        s.daemon.start(s.config.yaml());
        REQUIRE(s.daemon.await_log("127.0.0.1:" + std::to_string(s.network.address().port)));
    }
    SECTION("it went away") {
        s.network.open();
        s.start();
        s.network.close();
        REQUIRE(await([&] { return !s.consuming(); }));
    }
    const Clock::time_point start = Clock::now();
    const auto code = s.daemon.terminate();
    REQUIRE(code.has_value());
    CHECK(*code == 0);
    CHECK(since(start) < milliseconds(1500) + machine.slack());
}

TEST_CASE("SIGTERM while the broker does not answer ends the daemon within the shutdown time-out",
          "[threads][one-version]") {
    BehindRelay s;
    s.config.shutdown_timeout = "1s";
    s.network.open();
    const Machine machine;
    s.start();
    s.network.hold();
    const Clock::time_point start = Clock::now();
    const auto code = s.daemon.terminate();
    REQUIRE(code.has_value());
    CHECK(*code == 0);
    CHECK(since(start) < milliseconds(1000 + 1500) + machine.slack());
}

TEST_CASE("wrong credentials end nothing: the daemon says so and keeps trying, without the password in its log",
          "[one-version]") {
    Scenario s;
    Address wrong = broker_address();
    wrong.password = "not-the-password";
    s.config.uris = {uri_of(wrong)};
    s.retry(s.work_queue("work"), {"100ms"});
    s.daemon.start(s.config.yaml());
    CHECK(s.daemon.await_log("guest"));
    CHECK(s.daemon.running());
    CHECK(s.daemon.log().find("not-the-password") == std::string::npos);
    s.stop();
}

TEST_CASE("a restart of the broker: what waits on a rung comes back, and the daemon goes on by itself",
          "[own-broker][night][every-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms", "9s"});
    s.start();
    const Table second_attempt = proven({{"retryd-queue", longstr(work)}, {"retryd-attempt", int64(1)}}, s.config);
    {
        Worker worker(work);
        s.client.publish("", work, {.body = "waiting", .headers = second_attempt, .properties = {.delivery_mode = 2}});
        worker.reject(worker.receive());
        REQUIRE(s.await_depth(s.rung(work, "9s"), 1));
    }
    control_broker("restart");
    Client again(broker_address());
    REQUIRE(await([&] {
        const auto errors = again.look_at(s.config.error_queue);
        return errors && errors->consumers > 0;
    }));
    Worker worker(work);
    const Received returned = worker.receive(return_after_restart);
    CHECK(returned.body == "waiting");
    worker.ack(returned);
    again.publish("", work, {.body = "new"});
    worker.reject(worker.receive());
    CHECK(worker.receive().body == "new");
    s.stop();
}
