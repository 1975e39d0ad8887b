// A rung without a majority of its members: nothing that is published to it is answered. And what the commands say of
// such queues.
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "cluster/cluster.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/config_file.h"
#include "support/daemon.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/steady_neighbour.h"

using namespace retryd::test;
namespace stress = retryd::stress;

namespace {

const std::string bad = "bad";
const std::string bad_rung = "bad.retry.2h";
const std::string good = "good";

ConfigFile configuration(const stress::Addresses& addresses) {
    ConfigFile file;
    for (const Address& address : addresses)
        file.uris.push_back(uri_of(stress::as_daemon(address)));
    file.error_exchange = "errors";
    file.error_queue = stress::error_queue;
    file.catch_all = stress::catch_all;
    file.ladders = {{.name = "long", .delays = {"2h"}}, {.name = "short", .delays = {"200ms"}}};
    file.entries = {{.match = bad, .ladder = "long"}, {.match = good, .ladder = "short"}};
    return file;
}

void fail(Client& client, int from, int messages) {
    for (int i = from; i < from + messages; ++i)
        client.send("errors", "",
                    {.body = std::to_string(i), .headers = died_in(bad), .properties = {.delivery_mode = 2}});
    client.await_confirms();
}

std::uint32_t depth(Client& client, const std::string& queue) {
    const auto state = client.look_at(queue);
    return state ? state->messages : 0;
}

/// `in_use`: the rung is known to answer.
void check_others_go_on(int messages, bool in_use) {
    Cluster cluster;
    stress::create_vhost(cluster.addresses(), {{.name = bad}, {.name = good}});
    const auto client = stress::connect(cluster.addresses());
    Daemon daemon;
    daemon.start(configuration(cluster.addresses()).yaml());
    REQUIRE(await([&] { return client->look_at(bad_rung).has_value(); }));
    const int before = in_use ? 100 : 0;
    fail(*client, 0, before);
    REQUIRE(await([&] { return depth(*client, bad_rung) == static_cast<std::uint32_t>(before); }));

    auto neighbour = std::make_unique<SteadyNeighbour>(cluster.addresses().front(), good, milliseconds(200));
    std::this_thread::sleep_for(seconds(2));
    cluster.take_majority(bad_rung);
    const Machine machine;
    const Clock::time_point begin = Clock::now();
    fail(*client, before, messages);
    std::this_thread::sleep_for(seconds(20));
    const Clock::time_point end = Clock::now();
    const std::vector<milliseconds> late = neighbour->between(begin, end);
    REQUIRE(late.size() > 150);
    WARN(messages << " messages for a rung without a leader: the neighbour is late by " << late[late.size() / 2].count()
                  << " ms (p50), " << late[late.size() * 99 / 100].count() << " ms (p99), " << late.back().count()
                  << " ms (most)");
    CHECK(late.back() <= seconds(1) + machine.slack());
    CHECK(daemon.await_log("does not confirm messages for queue '" + bad_rung + "'"));

    cluster.give_majority_back();
    const Clock::time_point mended = Clock::now();
    std::multiset<std::string> bodies;
    const auto take_all = [&] {
        while (const auto message = client->get(bad_rung)) {
            bodies.insert(message->body);
            CHECK(long_header(*message, "retryd-attempt") == 1);
        }
    };
    const auto expected = static_cast<std::size_t>(before + messages);
    CHECK(await([&] { return take_all(), bodies.size() >= expected; }, seconds(120)));
    WARN("all were there " << since(mended).count() << " ms after it had a majority again");
    CHECK(std::set<std::string>(bodies.begin(), bodies.end()).size() == expected);
    CHECK(neighbour->second_copies() == 0);
    CHECK(daemon.lines_with({"connected to"}) == 1);
    CHECK(neighbour->finish());
    neighbour.reset();
    CHECK(await([&] { return depth(*client, stress::error_queue) == 0; }));
    CHECK(daemon.terminate() == 0);
    take_all();
    CHECK(bodies.size() == expected);
    for (const char* const queue :
         {"errors", "catch-all", "retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"}) {
        CAPTURE(queue);
        CHECK(depth(*client, queue) == 0);
    }
}

}  // namespace

TEST_CASE("a rung without a leader holds up no other, and its message comes once, when it has one", "[night]") {
    check_others_go_on(1, false);
}

TEST_CASE("a rung without a leader holds up no other, and its 700 messages come once, when it has one", "[night]") {
    check_others_go_on(700, false);
}

TEST_CASE("a rung that loses its leader holds up no other, and its message comes once, when it has one", "[night]") {
    check_others_go_on(1, true);
}

TEST_CASE("a rung that loses its leader holds up no other, and its 700 messages come once, when it has one",
          "[night]") {
    check_others_go_on(700, true);
}

TEST_CASE(
    "queues whose only node is away: status knows no number of them, and doctor that the error queue has no leader",
    "[night]") {
    Cluster cluster;
    stress::create_vhost(cluster.addresses(), {{.name = bad}, {.name = good}});
    const auto client = stress::connect(cluster.addresses());
    Daemon daemon;
    const std::string yaml = configuration(cluster.addresses()).yaml();
    daemon.start(yaml);
    REQUIRE(await([&] { return client->look_at("good.parked") && client->look_at("retryd.detour.5m"); }));
    REQUIRE(daemon.terminate() == 0);
    client->send("", stress::catch_all, {.body = "m", .properties = {.delivery_mode = 2}});
    client->await_confirms();
    for (const std::string& queue : {stress::error_queue, stress::catch_all, std::string("bad.parked")})
        cluster.leave_to(3, queue);
    cluster.kill(3);
    daemon.write(yaml + "management: {url: \"" + Cluster::management_url() + "\", username: guest, password: guest}\n");

    std::string seen;
    const auto status = [&] {
        const CommandResult result = run_retryd("status --json -c " + daemon.config_file());
        seen = result.out + result.err;
        return nlohmann::json::parse(result.out, nullptr, false);
    };
    const auto is_unknown = [](const nlohmann::json& queue) { return queue.value("unknown", false); };
    const auto parked_of_bad = [](const nlohmann::json& all) {
        for (const nlohmann::json& queue : all["queues"])
            if (queue["work_queue"] == bad) return queue["parked"];
        return nlohmann::json();
    };
    // The other nodes notice a moment later that it is away, of one queue after the other.
    nlohmann::json now;
    const bool known = await([&] {
        now = status();
        return is_unknown(now["errors"]) && is_unknown(now["catch_all"]) && is_unknown(parked_of_bad(now));
    });
    INFO(seen);
    REQUIRE(known);
    for (const nlohmann::json& queue : now["queues"]) {
        CHECK(is_unknown(queue["parked"]) == (queue["work_queue"] == bad));
        for (const nlohmann::json& rung : queue["rungs"])
            CHECK(rung["messages"] == 0);
    }
    // Again and again: RabbitMQ may list such a queue as running for a while.
    for (int i = 0; i < 20; ++i) {
        const CommandResult doctor = run_retryd("doctor -c " + daemon.config_file());
        INFO(doctor.out << doctor.err);
        CHECK(doctor.says({"Problem: the error queue '" + stress::error_queue + "' has no leader now"}));
        CHECK_FALSE(doctor.says({"nobody consumes"}));
        CHECK(is_unknown(status()["errors"]));
    }
    cluster.start(3);
    const bool back = await([&] { return status()["catch_all"]["messages"] == 1; });
    INFO(seen);
    CHECK(back);
}
