// More parked messages than one consumer of a command holds: several in turn hold them, and all that is not selected
// keeps its place. A small window makes 600 messages enough for that. Before 3.10 there is one consumer alone.
#include <csignal>
#include <set>

#include "support/catch.h"
#include "support/parked_scene.h"
#include "support/window.h"

using namespace retryd::test;

namespace {

constexpr int all_parked = 600;

class ManyParked : public ParkedScene {
  public:
    ManyParked() { park(all_parked); }

  private:
    Window window_{"25"};
};

/// The bodies of all but those that are gone.
std::vector<std::string> all_but(const std::vector<std::string>& gone) {
    const std::set<std::string> without(gone.begin(), gone.end());
    std::vector<std::string> left;
    for (int i = 0; i < all_parked; ++i) {
        if (without.count(std::to_string(i)) == 0) left.push_back(std::to_string(i));
    }
    return left;
}

}  // namespace

TEST_CASE("more than one consumer holds: list counts all, show finds each, and the order stays",
          "[one-version][since-3.10]") {
    ManyParked s;
    for (int i = 0; i < 2; ++i) {
        const CommandResult list = s.parked("list");
        CHECK(list.code == 0);
        CHECK(list.says({s.work, "attempts-exhausted", " 600 "}));
    }
    CHECK(s.parked("show --number 590 --raw").out == "589");
    CHECK(s.parked("show --number 1 --raw").out == "0");
    CHECK(s.parked("show --header third=yes --number 20 --raw").out == "57");
    s.park_one("new");
    REQUIRE(s.await_depth(s.parking, all_parked + 1));
    auto wanted = all_but({});
    wanted.emplace_back("new");
    CHECK(s.drain(s.parking, all_parked + 1) == wanted);
}

TEST_CASE("a look at the first of messages that nobody has looked at keeps the order of all",
          "[two-versions][since-3.10]") {
    ManyParked s;
    for (const char* number : {"1", "30", "2"}) {
        CHECK(s.parked(std::string("show --raw --number ") + number).code == 0);
        REQUIRE(s.await_depth(s.parking, all_parked));
    }
    CHECK(s.drain(s.parking, all_parked) == all_but({}));
}

TEST_CASE("more than one consumer holds: replay sends the selected of all of them, the rest stays in order",
          "[one-version][since-3.10]") {
    ManyParked s;
    CHECK(s.parked("replay --header third=yes --dry-run").says({"200 messages would be replayed"}));
    const CommandResult first = s.parked("replay --header third=yes --first 70 --rate unlimited");
    CHECK(first.says({"replayed", "70 of 70"}));
    REQUIRE(s.await_depth(s.parking, all_parked - 70));
    const CommandResult rest = s.parked("replay --header third=yes --rate unlimited");
    CHECK(rest.code == 0);
    CHECK(rest.says({"replayed", "130 of 130"}));
    CHECK(s.drain(s.work, 200) == bodies(all_parked, true));
    CHECK(s.drain(s.parking, 400) == bodies(all_parked, false));
}

TEST_CASE("more than one consumer holds: drop deletes the selected of all of them, the rest stays in order",
          "[one-version][since-3.10]") {
    ManyParked s;
    CHECK(s.parked("drop --header third=yes --yes").says({"dropped", "200 of 200"}));
    CHECK(s.drain(s.parking, 400) == bodies(all_parked, false));
}

TEST_CASE("more than one consumer holds: SIGINT ends a replay in order, and the same command goes on",
          "[one-version][since-3.10]") {
    ManyParked s;
    // So few a second that on a busy machine, too, some are left when it gets the signal.
    const auto replay = s.start_parked({"replay", "--header", "third=yes", "--rate", "20"});
    REQUIRE(await([&] { return s.depth(s.work) >= 40; }, patience, milliseconds(5)));
    replay->signal(SIGINT);
    CHECK(replay->wait(patience) == 1);
    const auto sent = s.drain(s.work, 0);
    CHECK(sent.size() < 200);
    REQUIRE(s.await_depth(s.parking, static_cast<std::uint32_t>(all_parked - sent.size())));
    CHECK(s.parked("replay --header third=yes --rate unlimited").code == 0);
    CHECK(sent.size() + s.drain(s.work, 200 - sent.size()).size() == 200);
    CHECK(s.drain(s.parking, 400) == bodies(all_parked, false));
}

TEST_CASE("more than one consumer holds: kill -9 again and again loses nothing, and sends the selected alone",
          "[night][one-version][since-3.10]") {
    ManyParked s;
    std::vector<std::string> sent;
    int kills = 0;
    for (bool done = false; !done;) {
        const auto replay = s.start_parked({"replay", "--header", "third=yes", "--rate", "50"});
        await([&] { return s.depth(s.work) > 30 || !replay->running(); }, patience, milliseconds(5));
        done = !replay->running();
        replay->signal(SIGKILL);
        replay->wait(patience);
        kills += done ? 0 : 1;
        REQUIRE(kills < 50);
        REQUIRE(await([&] { return s.depth(s.parking) >= 400; }));
        for (std::string& body : s.drain(s.work, 0))
            sent.push_back(std::move(body));
    }
    CHECK(kills > 0);
    CHECK(std::set<std::string>(sent.begin(), sent.end()).size() == 200);
    // Those that were held when it was killed may be behind those that it had not come to.
    const auto stayed = s.drain(s.parking, 400);
    const auto wanted = bodies(all_parked, false);
    CHECK(stayed.size() == 400);
    CHECK(std::set<std::string>(stayed.begin(), stayed.end()) == std::set<std::string>(wanted.begin(), wanted.end()));
}
