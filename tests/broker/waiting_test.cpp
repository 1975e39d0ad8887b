// `retryd waiting`: what is on rungs goes home now or is parked, whether its time is over meanwhile or not.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/environment.h"
#include "support/folder.h"
#include "support/process.h"
#include "support/scenario.h"
#include "support/window.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct WaitingScene : Scenario {
    explicit WaitingScene(const std::string& delay = "1h") : work(quorum_work_queue("work")), rung_(rung(work, delay)) {
        retry(work, {delay});
    }
    /// Messages with the bodies 0, 1, 2 … fail once; the header `odd` is on every second. They are on the rung then, in
    /// their order: so few at a time that it takes them all at once, however slow it is (TargetFlow::first_window), and
    /// not before it is declared. What it does not take would come later, by a detour.
    void fail(int messages) {
        await_declared();
        Worker worker(work, 500);
        for (int i = 0; i < messages; ++i) {
            client.send("", work,
                        {.body = std::to_string(i),
                         .headers = {{"odd", longstr(i % 2 == 1 ? "yes" : "no")}},
                         .properties = {.delivery_mode = 2}});
        }
        client.await_confirms();
        for (int done = 0; done < messages;) {
            const int some = std::min(4, messages - done);
            for (int i = 0; i < some; ++i)
                worker.reject(worker.receive());
            done += some;
            REQUIRE(await_depth(rung_, static_cast<std::uint32_t>(done)));
        }
    }
    CommandResult waiting(const std::string& arguments) {
        std::ofstream(folder_.file("retryd.yaml")) << config.yaml();
        return run_retryd("waiting " + arguments + " -c " + folder_.file("retryd.yaml"));
    }

    std::string work;
    std::string rung_;

  private:
    TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("waiting list, send and park: what is selected goes home with its attempt or is parked, the rest waits on",
          "[one-version]") {
    WaitingScene s;
    s.start();
    s.fail(20);
    REQUIRE(s.await_depth(s.rung_, 20));
    // Of what a busy broker does not count in time it says that it does not know.
    CHECK(await([&] { return s.waiting("list").says({s.work, s.rung_, "20", "within 1h"}); }));
    CHECK(s.waiting("send").code == 64);
    CHECK(s.waiting("send --all --dry-run").says({"20 of 20 messages would be sent home"}));
    REQUIRE(s.await_depth(s.rung_, 20));
    {
        const CommandResult result = s.waiting("send --header odd=yes --first 3 --rate unlimited");
        INFO(result.out << result.err);
        CHECK(result.code == 0);
        CHECK(result.says({"sent home", "3 of 20"}));
    }
    Worker worker(s.work);
    for (const char* body : {"1", "3", "5"}) {
        const Received home = worker.receive();
        CHECK(home.body == body);
        CHECK(long_header(home, "retryd-attempt") == 1);
        worker.ack(home);
    }
    REQUIRE(s.await_depth(s.rung_, 17));
    {
        const CommandResult result = s.waiting("park --header odd=no");
        INFO(result.out << result.err);
        CHECK(result.code == 0);
        CHECK(result.says({"parked", "10 of 17"}));
    }
    REQUIRE(s.await_depth(s.parking_of(s.work), 10));
    const Received parked = s.take(s.parking_of(s.work));
    CHECK(text_header(parked, "retryd-parked-reason") == "by-hand");
    CHECK(text_header(parked, "retryd-queue") == s.work);
    CHECK(long_header(parked, "retryd-attempt") == 1);
    CHECK(s.await_depth(s.rung_, 7));
    s.stop();
}

TEST_CASE("waiting send that is interrupted says so of each rung that it has not emptied, and what is left waits on",
          "[one-version]") {
    WaitingScene s;
    const std::string second = s.quorum_work_queue("work.second");
    s.retry(second, {"1h"});
    s.start();
    s.fail(20);
    s.client.publish("", second, {.body = "x"});
    Worker worker(second);
    worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.rung_, 20));
    REQUIRE(s.await_depth(s.rung(second, "1h"), 1));
    const TemporaryFolder folder;
    const std::string output = folder.file("output");
    Process sending({retryd_binary(), "waiting", "send", "--all", "--rate", "1", "-c", s.daemon.config_file()}, output);
    REQUIRE(await([&] { return s.depth(s.work) >= 2; }));
    sending.signal(SIGINT);
    CHECK(sending.wait(patience) == 1);
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    INFO(text.str());
    const std::string told = "Interrupted: all that was sent is confirmed and settled.";
    const std::size_t first = text.str().find(told);
    REQUIRE(first != std::string::npos);
    CHECK(text.str().find(told, first + 1) != std::string::npos);
    CHECK(text.str().find("0 of 1") != std::string::npos);
    CHECK(await([&] { return s.depth(s.work) + s.depth(s.rung_) == 20; }));
    CHECK(s.await_depth(s.rung(second, "1h"), 1));
    s.stop();
}

TEST_CASE("waiting --from a queue that does not exist, or is no rung: it is named, and nothing is touched",
          "[one-version]") {
    WaitingScene s;
    s.start();
    s.fail(1);
    REQUIRE(s.await_depth(s.rung_, 1));
    for (const std::string command : {"list", "send", "park"}) {
        CAPTURE(command);
        const CommandResult wrong = s.waiting(command + " --from " + s.work + ".retry.2h");
        CHECK(wrong.code == 1);
        CHECK(wrong.err.find("queue '" + s.work + ".retry.2h' does not exist") != std::string::npos);
        const CommandResult no_rung = s.waiting(command + " --from " + s.work);
        CHECK(no_rung.code == 1);
        CHECK(no_rung.err.find("queue '" + s.work + "' is not known as a rung") != std::string::npos);
    }
    CHECK(s.waiting("send --from " + s.rung_).code == 0);
    Worker worker(s.work);
    worker.ack(worker.receive());
    s.stop();
}

TEST_CASE("waiting send of a shared ladder: home with the producer's routing key", "[one-version]") {
    WaitingScene s;
    s.config.ladders.clear();
    s.config.entries.clear();
    const std::string ladder = s.share({s.work}, {"1h"});
    s.start();
    s.client.declare_exchange(s.exchange_name("orders"), "topic");
    s.client.bind(s.work, s.exchange_name("orders"), "order.#");
    Worker worker(s.work);
    s.client.publish(s.exchange_name("orders"), "order.paid", {.body = "0"});
    worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.shared_rung(ladder, "1h"), 1));
    CHECK(s.waiting("send --queue " + s.work).code == 0);
    const Received home = worker.receive();
    CHECK(home.routing_key == "order.paid");
    worker.ack(home);
    s.stop();
}

TEST_CASE("waiting send while the TTL sends home as well: each message comes once, none is lost",
          "[slow][one-version]") {
    constexpr int messages = 1'500;
    WaitingScene s("5s");
    s.start();
    Worker worker(s.work, 500);
    for (int i = 0; i < messages; ++i)
        s.client.send("", s.work, {.body = std::to_string(i), .properties = {.delivery_mode = 2}});
    s.client.await_confirms();
    for (int i = 0; i < messages; ++i)
        worker.reject(worker.receive());
    // Some may have expired, and some expire while the others are sent, which would take six seconds for all: what the
    // command holds does not expire, so it holds few.
    REQUIRE(await([&] { return s.depth(s.rung_) > 100; }));
    CommandResult result;
    {
        const Window window("25");
        // It leaves alone what a busy broker does not count in time, and says so.
        CHECK(await([&] {
            return (result = s.waiting("send --all --rate 250")).out.find("is not known") == std::string::npos;
        }));
    }
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    std::map<std::string, int> times;
    while (static_cast<int>(times.size()) < messages) {
        const Received home = worker.receive();
        ++times[home.body];
        worker.ack(home);
    }
    CHECK(worker.stays_idle(milliseconds(6'000)));  // longer than the rung's delay
    for (const auto& [body, count] : times)
        CHECK(count == 1);
    CHECK(s.depth(s.rung_) == 0);
    s.stop();
}
