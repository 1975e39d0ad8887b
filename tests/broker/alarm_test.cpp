// A broker under a memory or disk alarm: it takes no messages. The daemon goes on working, and no message
// is lost.
#include "support/alarm.h"

#include <set>
#include <string>

#include "support/await.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/machine.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Backlog : Scenario {
    explicit Backlog(int messages, std::size_t bytes = 0) : work(work_queue("work")) {
        retry(work, {"200ms"});
        start();
        stop();
        for (int i = 0; i < messages; ++i)
            client.send("", work, {.body = std::to_string(i) + std::string(bytes, '.')});
        client.await_confirms();
        Worker worker(work);
        for (int i = 0; i < messages; ++i)
            worker.reject(worker.receive());
        REQUIRE(await_depth(config.error_queue, static_cast<std::uint32_t>(messages)));
    }

    /// Each at least once: what was in flight when a connection ended may come twice.
    void check_all_come_back(std::size_t messages) {
        Worker worker(work);
        std::set<std::string> returned;
        while (returned.size() < messages) {
            const Received back = worker.receive();
            returned.insert(back.body);
            worker.ack(back);
        }
        CHECK(await_depth(config.error_queue, 0));
    }

    std::string work;
};

}  // namespace

TEST_CASE("SIGTERM ends a daemon whose broker takes no messages, and nothing is lost",
          "[own-broker][threads][one-version]") {
    const Alarm::Cause cause = GENERATE(Alarm::Cause::memory, Alarm::Cause::disk);
    CAPTURE(name_of(cause));
    Backlog s(20);
    s.config.shutdown_timeout = "1s";
    const Machine machine;
    Alarm alarm(cause);
    s.start();
    CHECK(s.daemon.await_log("the broker takes no messages (low on " + name_of(cause) + ")"));
    const Clock::time_point start = Clock::now();
    CHECK(s.daemon.terminate() == 0);
    CHECK(since(start) < milliseconds(1000 + 1500) + machine.slack());
    alarm.end();
    s.start();
    s.check_all_come_back(20);
    s.stop();
}

TEST_CASE("a broker that takes no messages: said, no more bodies held than prefetch_bytes, and it goes on by itself",
          "[own-broker][one-version]") {
    const Alarm::Cause cause = GENERATE(Alarm::Cause::memory, Alarm::Cause::disk);
    CAPTURE(name_of(cause));
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    Backlog s(64, mebibyte);
    s.config.prefetch_bytes = "2MiB";
    Alarm alarm(cause);
    s.start();
    const long before = s.daemon.resident_kib();
    CHECK(s.daemon.await_log("the broker takes no messages"));
    CHECK(s.await_depth(s.config.error_queue, 0));  // the broker has sent all of them
    long most = 0;
    CHECK_FALSE(await([&] { return (most = s.daemon.resident_kib() - before) > 16 * 1024; }, milliseconds(1000)));
    CAPTURE(most);
    CHECK(s.depth(s.work) == 0);
    alarm.end();
    CHECK(s.daemon.await_log("the broker takes messages again"));
    s.check_all_come_back(64);
    s.stop();
}

TEST_CASE("doctor names the node that has run short, and what follows, while the alarm lasts",
          "[own-broker][one-version]") {
    Scenario s;
    s.config.management_url = management_url();
    s.retry(s.work_queue("work"), {"1h"});
    s.daemon.write(s.config.yaml());
    REQUIRE(run_retryd("apply -c " + s.daemon.config_file()).code == 0);
    Alarm alarm(Alarm::Cause::memory);
    CommandResult result;
    // The management API's numbers are some seconds old.
    const auto finds = [&] {
        result = run_retryd("doctor -c " + s.daemon.config_file());
        return result.says({"Problem: node ", " has a memory alarm", "[broker-alarm]"});
    };
    CHECK(await(finds, patience, milliseconds(500)));
    INFO(result.out);
    CHECK(result.code == 2);
    alarm.end();
    CHECK(await([&] { return !finds(); }, patience, milliseconds(500)));
}
