// One consumer of a replay goes on for another: what that costs the broker, and what becomes of the run where the
// broker takes its time.
#include <csignal>
#include <set>

#include "support/catch.h"
#include "support/hanging_queue.h"
#include "support/parked_scene.h"
#include "support/window.h"

using namespace retryd::test;

namespace {

/// How many unacked messages that channel has that has most of them, in the vhost of this test.
int most_unacked_on_a_channel() {
    const std::string answer = erlang(
        "lists:max([0 | [N || C <- rabbit_channel:list_local(), [{vhost, <<\"" + broker_address().vhost +
        "\">>}, {messages_unacknowledged, N}] <- [catch rabbit_channel:info(C, [vhost, messages_unacknowledged])]]]).");
    return std::stoi(answer.substr(answer.find_first_of("0123456789")));
}

std::vector<std::string> replay_command() {
    return {"replay", "--header", "third=yes", "--rate", "unlimited", "--stop-after", "never"};
}

}  // namespace

// Before 3.10 there is one consumer alone.
TEST_CASE("to ack a message in the middle of many costs the broker no walk through all in front of it",
          "[one-version][since-3.10]") {
    constexpr int all = 750;  // 30 consumers: up to 4.2 an end keeps the order of 32
    ParkedScene s;
    s.park(all);
    const Window window("25");
    // Would take 25 seconds: it is ended once a broker, however busy, has been asked.
    const auto slow = s.start_parked({"replay", "--header", "third=yes", "--rate", "10"});
    REQUIRE(await([&] { return s.depth(s.work) >= 30; }));
    int most = 0;
    REQUIRE(await([&] { return (most = most_unacked_on_a_channel()) > 0; }));
    CHECK(most <= 25);
    REQUIRE(slow->wait(milliseconds(0)) == std::nullopt);
    slow->signal(SIGINT);
    CHECK(slow->wait(patience) == 1);
    REQUIRE(await([&] { return s.depth(s.work) + s.depth(s.parking) == all; }));  // what was unacked is back
    CHECK(s.parked("replay --header third=yes --rate unlimited --stop-after never").code == 0);
    CHECK(s.drain(s.work, all / 3) == bodies(all, true));
    CHECK(s.drain(s.parking, all - all / 3) == bodies(all, false));
}

TEST_CASE("a parking queue that is silent while one consumer goes on for another: all once, and the rest in order",
          "[flood][slow][night][one-version]") {
    constexpr int all = 20'000;
    ParkedScene s;
    s.park(all);
    s.config.heartbeat = "2s";
    const Window window("500");
    const auto replay = s.start_parked(replay_command());
    for (int i = 1; i <= 3; ++i) {
        const auto so_many = static_cast<std::uint32_t>(i * 1'000);
        REQUIRE(await([&] { return s.depth(s.work) >= so_many; }, patience, milliseconds(10)));
        const HangingQueue hang(s.parking);
        CHECK(replay->wait(seconds(9)) == std::nullopt);  // longer than a broker waits for heartbeats
    }
    const auto code = replay->wait(seconds(300));
    INFO(s.output());
    CHECK(code == 0);
    CHECK(s.drain(s.work, 6'667) == bodies(all, true));
    CHECK(s.drain(s.parking, all - 6'667) == bodies(all, false));
}

TEST_CASE("a look at a parking queue that is silent while one consumer goes on for another comes to its end",
          "[flood][slow][night][one-version]") {
    constexpr int all = 20'000;
    ParkedScene s;
    s.park(all);
    s.config.heartbeat = "2s";
    const Window window("500");
    const auto list = s.start_parked({"list"});
    REQUIRE(await([&] { return s.depth(s.parking) < all - 2'000; }, patience, milliseconds(10)));
    {
        const HangingQueue hang(s.parking);
        CHECK(list->wait(seconds(9)) == std::nullopt);
    }
    CHECK(list->wait(seconds(120)) == 0);
    CHECK(s.output().find(" 20000 ") != std::string::npos);
    CHECK(s.drain(s.parking, all) == [] {
        std::vector<std::string> wanted;
        for (int i = 0; i < all; ++i)
            wanted.push_back(std::to_string(i));
        return wanted;
    }());
}
