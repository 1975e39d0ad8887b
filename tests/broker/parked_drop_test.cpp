// `retryd parked drop`: what is selected is deleted, the rest stays in its place.
#include "support/catch.h"
#include "support/parked_scene.h"

using namespace retryd::test;

TEST_CASE("parked drop --yes deletes the selected and leaves the rest in order", "[one-version]") {
    ParkedScene s;
    s.park(60);
    const CommandResult result = s.parked("drop --header third=yes --yes");
    CHECK(result.code == 0);
    CHECK(result.says({"dropped", "20 of 20"}));
    CHECK(s.drain(s.parking, 40) == bodies(60, false));
    CHECK(s.depth(s.work) == 0);
}

TEST_CASE("parked drop --first deletes the oldest of the selected and keeps the order of all others", "[one-version]") {
    ParkedScene s;
    s.park(30);
    CHECK(s.parked("drop --header third=no --first 2 --yes").code == 0);
    std::vector<std::string> wanted{"0"};
    for (int i = 3; i < 30; ++i)
        wanted.push_back(std::to_string(i));
    CHECK(s.drain(s.parking, 28) == wanted);
}

TEST_CASE("parked drop without a terminal and without --yes drops nothing", "[one-version]") {
    ParkedScene s;
    s.park(3);
    const CommandResult result = s.parked("drop --all");
    CHECK(result.code == 1);
    CHECK(result.err.find("--yes") != std::string::npos);
    CHECK(s.await_depth(s.parking, 3));
}

TEST_CASE("parked drop --dry-run says what would go; without a selection it is wrong usage", "[one-version]") {
    ParkedScene s;
    s.park(3);
    CHECK(s.parked("drop --all --dry-run").says({"would be dropped"}));
    CHECK(s.parked("drop --yes").code == 64);
    CHECK(s.await_depth(s.parking, 3));
}
