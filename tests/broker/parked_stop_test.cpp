// `retryd parked replay` that is interrupted: by failures, a signal, kill -9.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <regex>
#include <set>
#include <thread>

#include "support/alarm.h"
#include "support/at_terminal.h"
#include "support/broker_user.h"
#include "support/catch.h"
#include "support/parked_scene.h"
#include "support/shell.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A consumer that rejects whatever comes, until it is told to stop.
class Rejecting {
  public:
    explicit Rejecting(const std::string& queue) : thread_([this, queue] { work(queue); }) {}
    ~Rejecting() {
        stop_ = true;
        thread_.join();
    }

  private:
    void work(const std::string& queue) {
        Client client(broker_address());
        client.consume(queue, 50);
        while (!stop_) {
            if (const auto message = client.next(milliseconds(50))) client.reject(message->tag, false);
        }
    }

    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Starts a replay of every third message and kills it when it has sent some, again and again, until all of those are
/// back in the work queue. The others, as they are parked then.
std::vector<std::string> kill_until_all_are_back(ParkedScene& s, int messages, const std::string& rate,
                                                 std::uint32_t sent_before) {
    s.park(messages);
    const std::uint32_t unselected = static_cast<std::uint32_t>(bodies(messages, false).size());
    int kills = 0;
    const auto begun = Clock::now();
    for (bool done = false; !done;) {
        const std::uint32_t before = s.depth(s.work);
        const auto replay = s.start_parked({"replay", "--header", "third=yes", "--rate", rate});
        await([&] { return s.depth(s.work) > before + sent_before || !replay->running(); }, patience, milliseconds(5));
        done = !replay->running();
        replay->signal(SIGKILL);
        replay->wait(patience);
        if (!done) ++kills;
        REQUIRE(await([&] { return s.depth(s.parking) >= unselected; }));
        REQUIRE(kills < 200);
    }
    const auto returned = s.drain(s.work, 0);
    const std::set<std::string> distinct(returned.begin(), returned.end());
    std::vector<std::string> stayed = s.drain(s.parking, unselected);
    const auto wanted = bodies(messages, true);
    std::printf(
        "%d parked, %zu selected: killed %d times in %lld ms; returned %zu (%zu copies too many), lost %zu; "
        "unselected %zu of %u\n",
        messages, wanted.size(), kills, static_cast<long long>(since(begun).count()), distinct.size(),
        returned.size() - distinct.size(), wanted.size() - distinct.size(), stayed.size(), unselected);
    CHECK(kills > 0);
    CHECK(distinct == std::set<std::string>(wanted.begin(), wanted.end()));
    return stayed;
}

}  // namespace

TEST_CASE("parked replay stops when more fail again than may, and what is left stays in order", "[one-version]") {
    ParkedScene s;
    s.start();
    s.park(200);
    const Rejecting consumer(s.work);
    // So few a second that on a busy machine, too, most are left when the first ones have failed again.
    const CommandResult result = s.parked("replay --all --rate 20 --stop-after 5");
    CHECK(result.code == 1);
    CHECK(result.says({"Stopped", "failed again", "--stop-after allows 5"}));
    CHECK(await([&] { return s.depth(s.parking) > 100; }));
    const auto left = s.drain(s.parking, 100);
    const auto came_back = std::adjacent_find(left.begin(), left.end(),
                                              [](const auto& a, const auto& b) { return std::stoi(a) > std::stoi(b); });
    CHECK(came_back - left.begin() >= 100);
}

TEST_CASE("parked replay at a terminal: a bar says how far it is, its rate, the time that is left, and what has failed",
          "[one-version]") {
    ParkedScene s;
    s.start();
    s.park(100);
    s.daemon.write(s.config.yaml());
    const Rejecting consumer(s.work);
    AtTerminal replay(shell_word(retryd_binary()) + " parked replay --all --rate 20 --stop-after 100 -c " +
                      s.daemon.config_file());
    CHECK(replay.shows("replayed "));
    CHECK(replay.shows("s left, "));
    CHECK(replay.shows(" failed"));
    const std::string shown = replay.shown();
    INFO(shown);
    CHECK(std::regex_search(
        shown, std::regex("\\[#* *\\] +[0-9]+ %  replayed [0-9]+ of 100, [0-9.]+/s, [0-9]+s left, [0-9]+ failed")));
    replay.send(SIGTERM);
    replay.code();
}

TEST_CASE("parked replay sends nothing twice in one run, although it comes back while it runs", "[one-version]") {
    ParkedScene s;
    s.start();
    s.park(20);
    const Rejecting consumer(s.work);
    const CommandResult result = s.parked("replay --all --rate 10 --stop-after never");
    CHECK(result.says({"replayed", "20 of 20"}));
    REQUIRE(s.await_depth(s.parking, 20));
}

TEST_CASE("where failures may not be watched, nothing is sent, and it says which right it takes", "[one-version]") {
    ParkedScene s;
    s.park(3);
    const BrokerUser user(s.queue_name("user"), {"^(?!retryd[.]replay).*", ".*", ".*"});
    s.config.uris = {user.uri()};
    const CommandResult result = s.parked("replay --all");
    const CommandResult blind = s.parked("replay --all --stop-after never");
    CHECK(result.code == 1);
    CHECK(result.err.find("cannot be watched") != std::string::npos);
    CHECK(result.err.find("secret") == std::string::npos);
    CHECK(blind.code == 0);
}

TEST_CASE("SIGINT ends a replay in order: what was sent is settled, nothing is there twice, the rest stays in order",
          "[one-version]") {
    ParkedScene s;
    s.park(300);
    // So few a second that on a busy machine, too, some are left when it gets the signal.
    const auto replay = s.start_parked({"replay", "--header", "third=yes", "--rate", "10"});
    REQUIRE(await([&] { return s.depth(s.work) >= 10; }, patience, milliseconds(5)));
    replay->signal(SIGINT);
    CHECK(replay->wait(patience) == 1);
    CHECK(s.output().find("Interrupted") != std::string::npos);
    const auto returned = s.drain(s.work, 0);
    CHECK(returned.size() < 100);
    std::vector<std::string> wanted;
    for (int i = 0; i < 300; ++i) {
        if (std::find(returned.begin(), returned.end(), std::to_string(i)) == returned.end())
            wanted.push_back(std::to_string(i));
    }
    CHECK(s.drain(s.parking, wanted.size()) == wanted);
}

TEST_CASE("SIGINT ends a replay in time although the broker takes no messages, and nothing is lost",
          "[own-broker][one-version]") {
    ParkedScene s;
    s.park(300);
    const auto replay = s.start_parked({"replay", "--all", "--rate", "10", "--stop-after", "never"});
    REQUIRE(await([&] { return s.depth(s.work) >= 3; }));
    {
        const Alarm alarm(Alarm::Cause::memory);
        REQUIRE(await([&] { return s.output().find("takes no messages") != std::string::npos; }));
        replay->signal(SIGINT);
        CHECK(replay->wait(seconds(20)) == 1);
    }
    const auto returned = s.drain(s.work, 0);
    auto all = s.drain(s.parking, 300 - returned.size());
    all.insert(all.end(), returned.begin(), returned.end());
    CHECK(std::set<std::string>(all.begin(), all.end()).size() == 300);
}

TEST_CASE("1,000 parked, kill -9 again and again: none lost, the unselected in order", "[slow][one-version]") {
    ParkedScene s;
    CHECK(kill_until_all_are_back(s, 1'000, "50", 33) == bodies(1'000, false));
}

// That is more than one consumer of a replay holds: what two of them held may change places (docs/parked.md).
TEST_CASE("10,000 parked, kill -9 again and again: none lost", "[flood][slow][night][one-version]") {
    ParkedScene s;
    std::vector<std::string> stayed = kill_until_all_are_back(s, 10'000, "1000", 500);
    std::vector<std::string> wanted = bodies(10'000, false);
    std::sort(stayed.begin(), stayed.end());
    std::sort(wanted.begin(), wanted.end());
    CHECK(stayed == wanted);
}
