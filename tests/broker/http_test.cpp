// What the daemon serves over HTTP: metrics, readiness, health, status.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>

#include "support/alarm.h"
#include "support/catch.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/tcp_relay.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// One work queue, a daemon with an HTTP server, and what it shows.
struct Watched : Scenario {
    Watched() : work(work_queue("work")), served(daemon) {
        config.http = "127.0.0.1:0";
        retry(work, {"100ms", "1h"});
    }

    /// Publishes messages and rejects each, `rounds` times in all.
    void fail(const std::string& queue, int messages, int rounds) {
        Worker worker(queue);
        for (int n = 0; n < messages; ++n)
            client.publish("", queue, {.body = std::to_string(n)});
        for (int n = 0; n < messages * rounds; ++n)
            worker.reject(worker.receive());
    }

    std::string messages_total(const std::string& outcome, const std::string& reason) const {
        return "retryd_messages_total{queue=\"" + work + "\",outcome=\"" + outcome + "\",reason=\"" + reason + "\"}";
    }
    std::string depth_of(const std::string& queue, const std::string& labels) const {
        return "retryd_queue_messages{queue=\"" + queue + "\"," + labels + "}";
    }
    bool shows(const std::string& part) const {
        return served.get("/status.json").body.find(part) != std::string::npos;
    }

    std::string work;
    Served served;
};

/// A daemon that reaches the broker through a relay.
struct WatchedBehindRelay : Watched {
    WatchedBehindRelay() : network(broker_address()) {
        config.uris = {uri_of(network.address())};
        network.open();
    }
    TcpRelay network;
};

}  // namespace

TEST_CASE("metrics are right as soon as messages went by, and tell how many wait where", "[3.8][one-version]") {
    Watched s;
    s.start();
    s.await_declared();
    s.fail(s.work, 3, 2);
    CHECK(s.served.await_metric(s.messages_total("retried", "rejected"), 6));
    CHECK(s.served.metric("retryd_retries_total{queue=\"" + s.work + "\",delay=\"100ms\"}") == 3);
    CHECK(s.served.metric("retryd_retries_total{queue=\"" + s.work + "\",delay=\"1h\"}") == 3);
    // A busy broker may have been too slow for one of them: to put it on a detour is confirmed as well.
    const double detours = s.served.metric("retryd_detoured_total{queue=\"" + s.work + "\"}");
    CHECK(s.served.metric("retryd_confirm_seconds_count") == 6 + std::max(0.0, detours));
    CHECK(s.served.metric("retryd_connected") == 1);
    CHECK(s.served.await_metric(s.depth_of(s.rung(s.work, "1h"), R"(role="rung",delay="1h")"), 3));
    CHECK(s.served.await_metric(s.depth_of(s.config.error_queue, R"(role="errors")"), 0));
    CHECK(s.served.await_metric(s.depth_of(s.parking_of(s.work), R"(role="parked")"), 0));
    CHECK(await([&] { return s.shows(R"("work_queue":")" + s.work + R"(","ladder":"ladder0","shared":false)"); }));
    CHECK(await([&] { return s.shows(R"("delay":"1h","delay_ms":3600000,"messages":3)"); }));
    CHECK(await([&] { return s.shows(R"("totals":{"retried":6,"parked":0,"dropped":0})"); }));
    CHECK(await([&] { return s.shows(R"("ready":true)"); }));
    s.stop();
}

TEST_CASE("what is parked, dropped, or belongs to no queue is counted with its reason", "[one-version]") {
    Watched s;
    s.entry().on = "{rejected: park, expired: drop}";
    const std::string dropping = s.work_queue("dropping");
    s.retry(dropping, {"1h"});
    s.entry().on = "{rejected: drop}";
    s.start();
    s.fail(s.work, 2, 1);
    s.fail(dropping, 1, 1);
    s.client.publish("", s.config.error_queue, {.body = "out of nowhere"});
    CHECK(s.served.await_metric(s.messages_total("parked", "reason-rejected"), 2));
    CHECK(s.served.await_metric(
        "retryd_messages_total{queue=\"" + dropping + R"(",outcome="dropped",reason="rejected"})", 1));
    CHECK(s.served.await_metric(R"x(retryd_messages_total{queue="(none)",outcome="parked",reason="no-death"})x", 1));
    CHECK(s.served.await_metric(s.depth_of(s.parking_of(s.work), R"(role="parked")"), 2));
    CHECK(s.served.await_metric(s.depth_of(s.config.catch_all, R"(role="parked")"), 1));
    CHECK(await(
        [&] { return s.shows(R"({"reason":"no-death","messages":1},{"reason":"reason-rejected","messages":2})"); }));
    s.stop();
}

TEST_CASE("promtool finds nothing to say about the metrics", "[3.8][one-version]") {
    Watched s;
    s.start();
    s.fail(s.work, 1, 1);
    REQUIRE(s.served.await_metric(s.messages_total("retried", "rejected"), 1));
    REQUIRE(s.served.await_metric(s.depth_of(s.rung(s.work, "100ms"), R"(role="rung",delay="100ms")"), 0));
    const std::string file = s.daemon.config_file() + ".metrics";
    std::ofstream(file) << s.served.get("/metrics").body;
    INFO("promtool is had by scripts/install-deps --promtool");
    CHECK(output_of("PATH=\"$PATH:${RETRYD_CACHE:-/var/cache/retryd}/bin\"; promtool check metrics < " + file +
                    " 2>&1 && echo fine") == "fine\n");
    s.stop();
}

TEST_CASE("readyz says why not while there is no broker, and is ready again with it", "[one-version]") {
    WatchedBehindRelay s;
    s.network.close();
    s.daemon.start(s.config.yaml());
    REQUIRE(s.daemon.await_log("status page on"));
    REQUIRE(await([&] { return s.served.get("/readyz").body.starts_with("not ready: not connected to "); }));
    CHECK(s.served.get("/readyz").status == 503);
    CHECK(s.served.get("/readyz").body.find("Connection refused") != std::string::npos);
    CHECK(s.served.get("/healthz").status == 200);
    CHECK(s.served.metric("retryd_connected") == 0);
    s.network.open();
    REQUIRE(await([&] { return s.served.get("/readyz").status == 200; }));
    CHECK(s.served.await_metric(s.depth_of(s.config.error_queue, R"(role="errors")"), 0));
    s.network.cut();
    REQUIRE(await([&] { return s.served.metric("retryd_reconnects_total") == 1; }));
    REQUIRE(await([&] { return s.served.get("/readyz").status == 200; }));
    CHECK(await([&] { return s.shows(R"("faults":[])"); }));
    s.stop();
}

TEST_CASE("a broker that takes no messages is told, and retryd is ready all the same", "[own-broker][one-version]") {
    Watched s;
    s.start();
    s.stop();
    s.fail(s.work, 1, 1);  // it waits in the error queue: the broker tells those that publish
    {
        const Alarm alarm(Alarm::Cause::memory);
        s.daemon.start(s.config.yaml());
        REQUIRE(s.served.await_metric("retryd_blocked", 1));
        REQUIRE(await([&] { return s.served.get("/readyz").status == 200; }));
        CHECK(s.served.get("/readyz").body.starts_with("ready, but the broker takes no messages (low on memory)"));
        CHECK(await([&] { return s.shows(R"("blocked":true,"blocked_reason":"low on memory")"); }));
    }
    CHECK(s.served.await_metric("retryd_blocked", 0));
    CHECK(s.served.get("/readyz").body.starts_with("ready: connected to "));
    s.stop();
}

TEST_CASE("reload moves the HTTP server; to where it cannot listen it does not go, and that is a lasting fault",
          "[threads][one-version]") {
    Watched s;
    s.start();
    const std::string first = s.served.url();
    Watched other;
    other.start();
    const std::string taken = other.served.url().substr(std::string("http://").size());
    s.config.http = taken;
    s.reload();
    REQUIRE(s.daemon.await_log("http.listen: cannot listen on " + taken));
    CHECK(Served::get_from(first, "/healthz").status == 200);
    CHECK(await(
        [&] { return s.shows("cannot listen on " + taken + " (Address already in use). It stays at 127.0.0.1:"); }));
    s.config.http = "127.0.0.2:0";
    s.reload();
    REQUIRE(s.daemon.await_log("status page on http://127.0.0.2:"));
    CHECK(await([&] { return s.served.get("/readyz").status == 200; }));
    CHECK(await([&] { return Served::get_from(first, "/healthz").status == 0; }));
    CHECK(await([&] { return s.shows(R"("faults":[])"); }));
    CHECK(s.served.await_metric(R"(retryd_config_reloads_total{result="success"})", 2));
    s.daemon.reload("nonsense");
    CHECK(s.served.await_metric(R"(retryd_config_reloads_total{result="failure"})", 1));
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a reload between two connections: what it leaves behind is told, and the page speaks of the new broker",
          "[one-version]") {
    WatchedBehindRelay s;
    s.start();
    REQUIRE(await([&] { return s.served.get("/readyz").status == 200; }));
    s.network.close();
    s.network.cut();
    REQUIRE(await([&] { return s.shows("Connection refused"); }));
    s.config.error_queue += ".new";
    s.config.uris = {"amqp://127.0.0.1:1/elsewhere"};
    s.reload();
    CHECK(s.daemon.await_log("unbind it from exchange"));
    CHECK(await([&] { return s.shows(R"("address":"127.0.0.1:1")") && s.shows(R"("vhost":"elsewhere")"); }));
    CHECK(s.shows(R"("version":"")"));
    s.stop();
}

TEST_CASE("a missing dead-letter exchange is no fault any more once a reload does not name it", "[one-version]") {
    Watched s;
    const std::string exchange = s.exchange_name("legacy.dlx");
    s.config.error_bindings = "[{exchange: \"" + exchange + "\"}]";
    s.start();
    REQUIRE(await([&] { return s.shows("exchange '" + exchange + "' does not exist"); }));
    s.config.error_bindings.clear();
    s.reload();
    CHECK(await([&] { return s.shows(R"("faults":[])"); }));
    s.stop();
}

TEST_CASE("reload brings the HTTP server and its two threads, and takes them away", "[threads][one-version]") {
    Watched s;
    s.config.http = "";
    s.start();
    s.await_declared();                     // and it has begun whatever it begins at the start
    const int others = s.daemon.threads();  // a sanitizer may have one of its own
    s.config.http = "127.0.0.1:0";
    s.reload();
    REQUIRE(s.daemon.await_log("status page on"));
    CHECK(await([&] { return s.daemon.threads() == others + 2; }));
    s.fail(s.work, 2, 1);
    CHECK(s.served.await_metric(s.messages_total("retried", "rejected"), 2));
    const std::string url = s.served.url();
    s.config.http = "";
    s.reload();
    REQUIRE(s.daemon.await_log("nothing is served over HTTP from now on"));
    CHECK(await([&] { return s.daemon.threads() == others; }));
    CHECK(Served::get_from(url, "/healthz").status == 0);
    s.fail(s.work, 1, 1);
    s.stop();
}

TEST_CASE("a taken port at the start ends retryd with 1 before it touches the broker, and says the way out",
          "[one-version]") {
    Watched first;
    first.start();
    Watched second;
    second.config.http = first.served.url().substr(std::string("http://").size());
    second.daemon.start(second.config.yaml());
    CHECK(second.daemon.wait(patience) == 1);
    CHECK(second.daemon.lines_with({"error", "http.listen: cannot listen on " + second.config.http,
                                    "Address already in use", "nothing on the broker was touched", "ss -ltnp"}) == 1);
    CHECK_FALSE(second.exists(second.config.error_queue));
}

TEST_CASE("queues that were made for a glob are counted, also after a restart where the management API lists them",
          "[one-version]") {
    Watched s;
    s.config.management_url = management_url();
    const std::string made = s.work_queue("glob.made");
    s.config.entries.clear();
    s.config.ladders.clear();
    s.retry(s.queue_name("glob.*"), {"1h"});
    s.rung(made, "1h");
    s.start();
    s.fail(made, 2, 1);
    const std::string waiting = s.depth_of(s.rung(made, "1h"), R"(role="rung",delay="1h")");
    CHECK(s.served.await_metric(waiting, 2));
    s.stop();
    s.start();
    CHECK(s.served.await_metric(waiting, 2));
    CHECK(await([&] { return s.shows(R"("work_queue":")" + made + "\""); }));
    s.stop();
}

TEST_CASE("SIGTERM while the broker does not answer who counts its queues ends the daemon in time",
          "[threads][one-version]") {
    WatchedBehindRelay s;
    s.config.shutdown_timeout = "2s";
    s.start();
    REQUIRE(s.served.await_metric(s.depth_of(s.config.error_queue, R"(role="errors")"), 0));
    s.network.hold();
    const Machine machine;
    const Clock::time_point start = Clock::now();
    CHECK(s.daemon.terminate().has_value());
    CHECK(since(start) < milliseconds(2'000 + 2'500) + machine.slack());
    s.network.resume();
}

TEST_CASE("scraped while messages go by, reloaded and stopped, the daemon loses nothing", "[threads][one-version]") {
    Watched s;
    s.entry().on = "{rejected: park}";
    s.start();
    std::atomic<bool> over = false;
    std::atomic<int> answers = 0;
    std::thread scraper([&] {
        const std::string url = s.served.url();
        while (!over) {
            for (const char* path : {"/metrics", "/status.json", "/readyz", "/healthz", "/"})
                answers += Served::get_from(url, path).status == 200 ? 1 : 0;
        }
    });
    constexpr int messages = 500;
    for (int n = 0; n < messages; ++n)
        s.client.send("", s.work, {.body = std::to_string(n)});
    s.client.await_confirms();
    Worker worker(s.work);
    for (int n = 0; n < messages; ++n) {
        worker.reject(worker.receive());
        if (n == messages / 2) s.reload();
    }
    CHECK(s.served.await_metric(s.messages_total("parked", "reason-rejected"), messages));
    CHECK(s.await_depth(s.parking_of(s.work), messages));
    over = true;
    scraper.join();
    CHECK(answers > 0);
    s.stop();
}
