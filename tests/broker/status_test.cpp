// `retryd status` against a real broker: what it counts, what it cannot see, and that --watch survives the broker.
#include <csignal>
#include <fstream>
#include <sstream>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/machine.h"
#include "support/process.h"
#include "support/scenario.h"
#include "support/tcp_relay.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A work queue with two long rungs.
struct WatchedStatus : Scenario {
    WatchedStatus() : work(work_queue("work")) { retry(work, {"1h", "2h"}); }

    CommandResult status(const std::string& options = "") {
        daemon.write(config.yaml());
        return run_retryd("status " + options + " -c " + daemon.config_file());
    }

    /// Publishes messages and rejects each so many times; after one rejection they wait on the first rung.
    void fail(const std::string& queue, int messages) {
        Worker worker(queue);
        for (int i = 0; i < messages; ++i)
            client.publish("", queue, {.body = "x"});
        for (int i = 0; i < messages; ++i)
            worker.reject(worker.receive());
    }

    std::string work;
};

/// `retryd status --watch` as a child, and what it has printed so far.
class Watcher {
  public:
    explicit Watcher(const std::string& config_file)
        : file_(config_file + ".watch"), process_({retryd_binary(), "status", "--watch", "-c", config_file}, file_) {}

    std::string printed() const {
        std::ostringstream text;
        text << std::ifstream(file_).rdbuf();
        return text.str();
    }
    int lines_with(const std::string& text) const { return retryd::test::lines_with(printed(), {text}); }
    Process& process() { return process_; }

  private:
    std::string file_;
    Process process_;
};

}  // namespace

TEST_CASE("status counts what waits on each rung and what is parked, as the broker does", "[3.8][one-version]") {
    WatchedStatus s;
    const std::string parks = s.work_queue("parks");
    s.retry(parks, {"1h"});
    s.entry().on = "{rejected: park}";
    s.start();
    s.await_declared();
    s.fail(s.work, 3);
    s.fail(parks, 1);
    REQUIRE(s.await_depth(s.rung(s.work, "1h"), 3));
    REQUIRE(s.await_depth(s.parking_of(parks), 1));
    const std::string empty = "Error queue " + s.config.error_queue + ": 0 messages";
    // Of what a busy broker does not count in time it says that it does not know.
    CommandResult result;
    CHECK(await([&] {
        result = s.status();
        return result.says({s.work + " ", " 3   0        3       0"}) &&
               result.says({parks + " ", " 0        0       1"}) && result.says({empty});
    }));
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(result.says({"work queue", "1h  2h  waiting  parked"}));
    CHECK(result.says({s.work + " ", " 3   0        3       0"}));
    CHECK(result.says({parks + " ", " 0        0       1"}));
    CHECK(result.says({empty}));
    CommandResult json;
    CHECK(await([&] { return (json = s.status("--json")).says({"\"messages\": 3"}); }));
    CHECK(json.code == 0);
    CHECK(json.says({"\"ok\": true"}));
    CHECK(json.says({"\"messages\": 3"}));
    s.stop();
}

TEST_CASE("status counts on a broker where nothing has been declared, and makes nothing", "[one-version]") {
    WatchedStatus s;
    const CommandResult result = s.status();
    CHECK(result.code == 0);
    CHECK(result.says({s.work + " ", " -   -        0       -"}));
    CHECK(result.says({"Error queue " + s.config.error_queue + ": not there"}));
    CHECK_FALSE(s.exists(s.config.error_queue));
}

TEST_CASE("status finds the queues of a glob by the management API, and says what it takes where there is none",
          "[one-version]") {
    WatchedStatus s;
    const std::string one = s.work_queue("web.one");
    s.work_queue("web.idle");
    s.retry(s.queue_name("web.*"), {"3h"});
    s.start();
    s.fail(one, 2);
    REQUIRE(s.await_depth(s.rung(one, "3h"), 2));
    const CommandResult without = s.status();
    CHECK_FALSE(without.says({one}));
    CHECK(without.says({"Not seen: the work queues of globs", "management.url"}));
    s.config.management_url = management_url();
    REQUIRE(await([&] { return s.status().says({one + " ", " 2        2"}); }));
    CHECK_FALSE(s.status().says({"web.idle"}));
    s.stop();
}

TEST_CASE("status shows the rungs of a shared ladder once", "[one-version]") {
    WatchedStatus s;
    const std::string sharing = s.work_queue("sharing");
    const std::string ladder = s.share({sharing}, {"4h"});
    s.start();
    s.fail(sharing, 2);
    REQUIRE(s.await_depth(s.shared_rung(ladder, "4h"), 2));
    // Of what a busy broker does not count in time it says that it does not know.
    CommandResult result;
    CHECK(await([&] { return (result = s.status()).says({"(all together)", " 2        2"}); }));
    INFO(result.out << result.err);
    CHECK(result.says({"Ladder " + ladder + ", shared by its work queues"}));
    CHECK(result.says({"(all together)", " 2        2"}));
    CHECK(result.says({sharing}));
    s.stop();
}

TEST_CASE("a queue's name cannot steer the terminal that status prints to", "[one-version]") {
    WatchedStatus s;
    const std::string name = s.work_queue("\x1b[31mred\a");
    s.retry(name, {"5h"});
    // In YAML they are written as escapes.
    std::string yaml = s.config.yaml();
    for (const auto& [control, escape] : {std::pair{"\x1b", "\\e"}, std::pair{"\a", "\\a"}}) {
        for (auto at = yaml.find(control); at != std::string::npos; at = yaml.find(control))
            yaml.replace(at, 1, escape);
    }
    s.daemon.write(yaml);
    const CommandResult result = run_retryd("status -c " + s.daemon.config_file());
    CHECK(result.code == 0);
    CHECK(result.says({"\\x1b[31mred\\x07"}));
    CHECK(result.out.find('\x1b') == std::string::npos);
}

TEST_CASE("status ends with 1 where there is no broker, without a password, with and without --watch",
          "[one-version]") {
    WatchedStatus s;
    s.config.uris = {"amqp://guest:geheim@127.0.0.1:1/"};
    for (const char* options : {"", "--watch"}) {
        CAPTURE(options);
        const CommandResult result = s.status(options);
        CHECK(result.code == 1);
        CHECK(result.err.find("127.0.0.1:1") != std::string::npos);
        CHECK(result.err.find("geheim") == std::string::npos);
    }
}

TEST_CASE("a watch goes on when the broker went away and comes back, and ends with 0 by a signal",
          "[slow][one-version]") {
    WatchedStatus s;
    TcpRelay network(broker_address());
    network.open();
    s.config.uris = {uri_of(network.address())};
    s.daemon.write(s.config.yaml());
    for (const int signal : {SIGTERM, SIGINT}) {
        Watcher watcher(s.daemon.config_file());
        const int before = watcher.lines_with(s.work);
        REQUIRE(await([&] { return watcher.lines_with(s.work) >= before + 2; }));
        const int told = watcher.lines_with("It is tried again every 2s.");
        network.close();
        REQUIRE(await([&] { return watcher.lines_with("It is tried again every 2s.") > told; }));
        const int lost = watcher.lines_with(s.work);
        network.open();
        REQUIRE(await([&] { return watcher.lines_with(s.work) > lost; }));
        CHECK(watcher.printed().find('\x1b') == std::string::npos);
        watcher.process().signal(signal);
        CHECK(watcher.process().wait(patience) == 0);
    }
}

TEST_CASE("a watch that is connecting to a host that says nothing ends at once by a signal", "[slow][one-version]") {
    WatchedStatus s;
    TcpRelay network(broker_address());
    network.open();
    s.config.uris = {uri_of(network.address())};
    s.daemon.write(s.config.yaml());
    const Machine machine;
    Watcher watcher(s.daemon.config_file());
    REQUIRE(await([&] { return watcher.lines_with(s.work) > 0; }));
    const int before = network.connections();
    network.hold();
    network.cut();
    REQUIRE(await([&] { return network.connections() > before; }));
    watcher.process().signal(SIGTERM);
    CHECK(machine.await([&] { return !watcher.process().running(); }, milliseconds(1000)));  // connect_timeout is 10 s
    CHECK(watcher.process().wait(patience) == 0);
}
