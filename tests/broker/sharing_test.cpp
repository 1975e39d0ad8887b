// Several daemons on one error queue.
#include <map>

#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr int shared_load = 400;

/// Two daemons, and messages that each fail twice.
struct Shared : Scenario {
    Shared() : work(work_queue("work")) {
        retry(work, {"100ms", "200ms"});
        config.prefetch = 10;
        start();
        second.start(config.yaml());
        REQUIRE(await([&] { return client.look_at(config.error_queue)->consumers == 2; }));
        for (int i = 0; i < shared_load; ++i)
            client.send("", work, {.body = std::to_string(i)});
        client.await_confirms();
    }

    /// Settles the next delivery: it is rejected until its second attempt, then acked. No attempt may be higher than
    /// the number of rejections.
    void work_one(Worker& worker) {
        const Received message = worker.receive();
        const bool fresh = find(message.headers, "retryd-attempt") == nullptr;
        const std::int64_t attempt = fresh ? 0 : long_header(message, "retryd-attempt");
        CHECK(attempt <= deaths[message.body]);
        if (attempt == 2) {
            ++done[message.body];
            return worker.ack(message);
        }
        ++deaths[message.body];
        worker.reject(message);
    }

    std::string work;
    Daemon second;
    std::map<std::string, int> deaths;
    std::map<std::string, int> done;
};

}  // namespace

TEST_CASE("two daemons on one error queue share the work, and attempts do not multiply", "[one-version]") {
    Shared s;
    Worker worker(s.work);
    for (int deliveries = 0; deliveries < 3 * shared_load; ++deliveries)
        s.work_one(worker);
    CHECK(s.done.size() == shared_load);
    CHECK(worker.stays_idle(milliseconds(300)));
    const std::string retrying = "retrying a message";
    CHECK(s.daemon.log().find(retrying) != std::string::npos);
    CHECK(s.second.log().find(retrying) != std::string::npos);
    CHECK(s.second.terminate() == 0);
    s.stop();
}

TEST_CASE("of two daemons one is stopped under load: the other goes on, nothing is lost and nothing comes twice",
          "[threads][one-version]") {
    Shared s;
    Worker worker(s.work);
    for (int deliveries = 0; deliveries < shared_load + shared_load / 2; ++deliveries)
        s.work_one(worker);
    CHECK(s.second.terminate() == 0);
    for (int deliveries = shared_load + shared_load / 2; deliveries < 3 * shared_load; ++deliveries)
        s.work_one(worker);
    CHECK(s.done.size() == shared_load);
    CHECK(worker.stays_idle(milliseconds(300)));
    CHECK(s.await_depth(s.config.error_queue, 0));
    s.stop();
}

TEST_CASE("of two daemons one is killed: the other goes on, and nothing is lost", "[one-version]") {
    Shared s;
    Worker worker(s.work);
    for (int deliveries = 0; deliveries < shared_load + shared_load / 2; ++deliveries)
        s.work_one(worker);
    s.second.kill();
    while (s.done.size() < shared_load)
        s.work_one(worker);
    CHECK(s.await_depth(s.config.error_queue, 0));
    s.stop();
}
