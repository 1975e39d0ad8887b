// The daemon ends under load: by SIGTERM or by kill -9.
#include <csignal>
#include <map>

#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Many messages that each fail once, and how often each was seen.
struct Load : Scenario {
    explicit Load(int messages) : work(work_queue("work")), count(messages) {
        retry(work, {"100ms"});
        config.prefetch = 200;
        start();
        for (int i = 0; i < count; ++i)
            client.send("", work, {.body = std::to_string(i), .properties = {.delivery_mode = 2}});
        client.await_confirms();
    }

    /// Settles what arrives until `deliveries` more have come or all are done. Fails the test if no more come.
    void work_through(Worker& worker, int deliveries) {
        for (; deliveries > 0 && returned.size() < static_cast<std::size_t>(count); --deliveries) {
            INFO(returned.size() << " of " << count << " messages are back");
            const Received message = worker.receive();
            if (find(message.headers, "retryd-attempt") == nullptr) {
                worker.reject(message);
                continue;
            }
            ++returned[message.body];
            worker.ack(message);
        }
    }

    int copies() const {
        int total = 0;
        for (const auto& [body, times] : returned)
            total += times;
        return total;
    }

    std::string work;
    int count;
    std::map<std::string, int> returned;
};

}  // namespace

TEST_CASE("kill -9 under load, four times: nothing is lost", "[one-version]") {
    Load s(2000);
    Worker worker(s.work, 200);
    for (int kills = 0; kills < 4; ++kills) {
        s.work_through(worker, 600);
        s.daemon.kill();
        s.start();
    }
    s.work_through(worker, 1'000'000);
    CHECK(s.returned.size() == 2000);
    s.stop();
}

TEST_CASE("SIGTERM under load, three times: what was published was acked, so nothing is lost and nothing comes twice",
          "[threads][one-version]") {
    Load s(2000);
    Worker worker(s.work, 200);
    for (int stops = 0; stops < 3; ++stops) {
        s.work_through(worker, 800);
        s.stop();
        s.start();
    }
    s.work_through(worker, 1'000'000);
    CHECK(s.returned.size() == 2000);
    CHECK(worker.stays_idle(milliseconds(400)));
    CHECK(s.copies() == 2000);
    s.stop();
}

TEST_CASE("SIGINT ends the daemon like SIGTERM", "[threads][one-version]") {
    Scenario s;
    s.retry(s.work_queue("work"), {"100ms"});
    s.start();
    s.daemon.signal(SIGINT);
    CHECK(s.daemon.wait(patience) == 0);
    CHECK(await([&] { return !s.consuming(); }));
}
