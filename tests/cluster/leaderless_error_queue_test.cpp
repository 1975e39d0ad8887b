// The error queue without a majority of its members: nothing comes from it, as if no message were ever rejected. That
// is told, nobody's message is blamed for it, and all goes on by itself.
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "cluster/cluster.h"
#include "support/catch.h"
#include "support/config_file.h"
#include "support/daemon.h"
#include "support/forged.h"
#include "support/served.h"

using namespace retryd::test;
namespace stress = retryd::stress;

namespace {

struct Scene {
    const std::string work = "work";
    const std::string rung = "work.retry.2h";
    const std::string source = "source";

    Cluster cluster;
    std::unique_ptr<Client> client;
    ConfigFile config;
    Daemon daemon;
    std::uint32_t failed = 0;

    Scene() {
        stress::create_vhost(cluster.addresses(), {{.name = work}});
        client = stress::connect(cluster.addresses());
        client->declare_queue(source, {{"x-queue-type", longstr("quorum")}});
        for (const Address& address : cluster.addresses())
            config.uris.push_back(uri_of(stress::as_daemon(address)));
        config.error_exchange = "errors";
        config.error_queue = stress::error_queue;
        config.catch_all = stress::catch_all;
        config.http = "127.0.0.1:0";
        config.sources = "[{queue: " + source + ", dialect: generic, work_queue: " + work + "}]";
        config.ladders = {{.name = "long", .delays = {"2h"}}};
        config.entries = {{.match = work, .ladder = "long"}};
        start();
        REQUIRE(await([&] { return client->look_at(rung).has_value(); }));
    }

    void start() { daemon.start(config.yaml()); }
    bool on_rung(std::uint32_t number) const {
        const auto state = client->look_at(rung);
        return state && state->messages == number;
    }
    void fail_some() {
        constexpr std::uint32_t batch = 20;
        for (std::uint32_t i = 0; i < batch; ++i) {
            const Message message{.body = "m", .headers = died_in(work), .properties = {.delivery_mode = 2}};
            client->send("errors", "", message);
        }
        client->await_confirms();
        failed += batch;
    }
    void check_source_goes_on() {
        client->publish("", source, {.body = "s", .properties = {.delivery_mode = 2}});
        ++failed;
        CHECK(await([&] { return on_rung(failed); }));
    }
    std::string ready() const { return Served(daemon).get("/readyz").body; }
    void check_comes_back() {
        // What the former one said to the former leader may have been lost with it.
        client = stress::connect(cluster.addresses());
        fail_some();
        CHECK(await([&] { return on_rung(failed); }, seconds(120)));
        CHECK(await([&] { return ready().starts_with("ready"); }));
    }
    void check_no_message_is_blamed() {
        CHECK(daemon.lines_with({"undeliverable"}) == 0);
        CHECK(daemon.lines_with({"held_up"}) == 0);
        CHECK(daemon.lines_with({"answers nothing on the channel"}) == 0);
        CHECK(client->look_at(stress::catch_all)->messages == 0);
    }
};

/// The broker waits for the queue for 65 s, then it ends the connection that asked.
constexpr seconds broker_gives_up{70};

void check_told_while_consumed(const std::function<void(Cluster&)>& take) {
    Scene s;
    s.fail_some();
    REQUIRE(await([&] { return s.on_rung(s.failed); }));

    take(s.cluster);
    const Clock::time_point taken = Clock::now();
    const std::string told = "the error queue '" + stress::error_queue + "' has no leader, or too few of its members";
    CHECK(s.daemon.await_log(told, seconds(90)));
    WARN("told after " << since(taken).count() << " ms");
    CHECK(await([&] { return s.ready().starts_with("not ready: " + told); }));
    CHECK(Served(s.daemon).get("/metrics").body.find("retryd_error_queue_silent 1") != std::string::npos);
    s.check_source_goes_on();
    s.config.entries.front().on = "{maxlen: retry}";  // another policy, so another consumer
    s.daemon.reload(s.config.yaml());
    CHECK(s.daemon.await_log("in force from the next message on, connection kept"));
    std::this_thread::sleep_for(broker_gives_up);
    s.check_source_goes_on();
    CHECK(s.ready().starts_with("not ready: " + told));
    CHECK(s.daemon.lines_with({told}) == 1);
    CHECK(s.daemon.lines_with({told, "neither retried nor parked", "quorum_status", "goes on by itself"}) == 1);

    s.cluster.give_majority_back();
    const Clock::time_point given_back = Clock::now();
    CHECK(await([&] { return s.daemon.lines_with({"answers again"}) == 1; }, seconds(90)));
    WARN("works again after " << since(given_back).count() << " ms");
    s.check_comes_back();
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.check_no_message_is_blamed();
    CHECK(s.daemon.terminate() == 0);
    CHECK(s.on_rung(s.failed));
}

}  // namespace

TEST_CASE("an error queue that loses its leader: told once, the connection stays, and all comes once, when it has one",
          "[night]") {
    check_told_while_consumed([](Cluster& cluster) { cluster.take_majority(stress::error_queue); });
}

TEST_CASE(
    "an error queue whose leader is left alone: told once, the connection stays, and all comes once, when it is not",
    "[night]") {
    check_told_while_consumed([](Cluster& cluster) { cluster.take_followers(stress::error_queue); });
}

TEST_CASE("an error queue that has no leader at the start: told as that, once, and work goes on with one", "[night]") {
    Scene s;
    REQUIRE(s.daemon.terminate() == 0);
    s.cluster.take_majority(stress::error_queue);
    s.config.uris.resize(1);  // what ends a connection is told once for each broker of the list
    s.start();
    const std::string told = "the error queue '" + stress::error_queue + "' has not let the broker consume it";
    CHECK(s.daemon.await_log(told, seconds(120)));
    s.check_source_goes_on();
    CHECK(s.daemon.lines_with({"+00:00 error", told}) == 1);
    CHECK(s.ready().starts_with("not ready"));
    CHECK(await([&] { return s.daemon.lines_with({told}) == 2; }, seconds(120)));
    CHECK(s.daemon.lines_with({"+00:00 error", told}) == 1);
    CHECK(s.ready().starts_with("not ready"));

    s.cluster.give_majority_back();
    s.check_comes_back();
    s.check_no_message_is_blamed();
    CHECK(s.daemon.terminate() == 0);
}
