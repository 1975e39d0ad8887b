// `retryd parked replay`: what is selected goes back to its work queue, the rest stays in its place.
#include "support/catch.h"
#include "support/parked_scene.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("parked replay: the selected return in order, the rest stays in order, and it is written down",
          "[one-version]") {
    ParkedScene s;
    s.park(60);
    const CommandResult result = s.parked("replay --header third=yes --rate unlimited");
    CHECK(result.code == 0);
    CHECK(result.says({"replayed", "20 of 20"}));
    const Received first = s.take(s.work);
    CHECK(first.body == "0");
    CHECK(find(first.headers, "retryd-attempt") == nullptr);
    CHECK(find(first.headers, "retryd-parked-reason") == nullptr);
    CHECK(find(first.headers, "x-death") == nullptr);
    CHECK(text_header(first, "retryd-routing-key") == "order.paid");
    const Value* replays = find(first.headers, "retryd-replays");
    REQUIRE(replays != nullptr);
    const Table replay = std::get<Table>(std::get<Array>(replays->data).front().data);
    CHECK(*find(replay, "from") == longstr(s.parking));
    CHECK(*find(replay, "attempts") == int64(2));
    auto went = bodies(60, true);
    went.erase(went.begin());
    CHECK(s.drain(s.work, 19) == went);
    CHECK(s.drain(s.parking, 40) == bodies(60, false));
}

TEST_CASE("parked replay --dry-run says what would go and changes nothing", "[one-version]") {
    ParkedScene s;
    s.park(9);
    const CommandResult result = s.parked("replay --header third=yes --dry-run");
    CHECK(result.code == 0);
    CHECK(result.says({"Nothing was changed", "3 messages"}));
    CHECK(s.depth(s.work) == 0);
    CHECK(s.await_depth(s.parking, 9));
}

TEST_CASE("parked replay --first, --older-than, --newer-than and --reason select", "[one-version]") {
    ParkedScene s;
    s.park(6);
    s.park_one("odd", {}, "too-old");
    CHECK(s.parked("replay --older-than 2h").says({"Nothing is selected"}));
    CHECK(s.parked("replay --newer-than 30m").says({"Nothing is selected"}));
    CHECK(s.parked("replay --older-than 30m --first 2").code == 0);
    CHECK(s.drain(s.work, 2) == std::vector<std::string>{"0", "1"});
    CHECK(s.parked("replay --reason too-old").code == 0);
    CHECK(s.drain(s.work, 1) == std::vector<std::string>{"odd"});
    CHECK(s.drain(s.parking, 4) == std::vector<std::string>{"2", "3", "4", "5"});
}

TEST_CASE("parked replay without a selection is wrong usage, and so is a wrong one", "[one-version]") {
    ParkedScene s;
    s.park(1);
    CHECK(s.parked("replay").code == 64);
    CHECK(s.parked("replay --older-than 5").code == 64);
    CHECK(s.parked("replay --all --rate 0").code == 64);
    CHECK(s.parked("replay --all --header x").code == 64);
    CHECK(s.parked("").code == 64);
    CHECK(s.await_depth(s.parking, 1));
}

TEST_CASE("parked replay --to sends elsewhere", "[one-version]") {
    ParkedScene s;
    const std::string other = s.plain_queue("other");
    s.park(3);
    CHECK(s.parked("replay --all --to " + other).code == 0);
    const Received first = s.take(other);
    CHECK(first.body == "0");
    CHECK(text_header(first, "retryd-queue") == other);
    CHECK(s.depth(s.work) == 0);
}

TEST_CASE("parked replay to a queue that is gone changes nothing and says so", "[one-version]") {
    ParkedScene s;
    s.park(3);
    s.client.delete_queue(s.work);
    const CommandResult result = s.parked("replay --all");
    CHECK(result.code == 1);
    CHECK(result.err.find("'" + s.work + "' does not exist") != std::string::npos);
    CHECK(s.await_depth(s.parking, 3));
}

TEST_CASE("parked replay into the parking queue itself is refused", "[one-version]") {
    ParkedScene s;
    s.park(3);
    CHECK(s.parked("replay --all --to " + s.parking).code == 1);
    CHECK(s.await_depth(s.parking, 3));
}

TEST_CASE("parked replay to a queue that is full: what it refuses stays parked, in order", "[one-version]") {
    ParkedScene s;
    const std::string full =
        s.plain_queue("full", {{"x-max-length", int64(2)}, {"x-overflow", longstr("reject-publish")}});
    s.park(6);
    const CommandResult result = s.parked("replay --all --rate 20 --to " + full);
    CHECK(result.code == 1);
    CHECK(result.says({"replayed", "2 of 6"}));
    CHECK(result.says({"refused by the queue", "4"}));
    CHECK(s.drain(s.parking, 4) == std::vector<std::string>{"2", "3", "4", "5"});
}

TEST_CASE("parked replay by a shared ladder: the consumer sees the producer's routing key", "[one-version]") {
    ParkedScene s(true);
    s.park(3);
    CHECK(s.parked("replay --all").code == 0);
    const Received first = s.take(s.work);
    CHECK(first.body == "0");
    CHECK(first.routing_key == "order.paid");
}

TEST_CASE("a message that was replayed and fails again begins its ladder anew and is parked with its history",
          "[one-version]") {
    ParkedScene s;
    s.start();
    s.park(1);
    CHECK(s.parked("replay --all --stop-after never").code == 0);
    Worker worker(s.work);
    for (int attempt = 0; attempt < 2; ++attempt)
        worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.parking, 1));
    const Received parked = s.take(s.parking);
    CHECK(long_header(parked, "retryd-attempt") == 2);
    CHECK(text_header(parked, "retryd-routing-key") == "order.paid");
    CHECK(find(parked.headers, "retryd-replays") != nullptr);
    s.stop();
}
