// Ladders that are not plain lists: by formula, and with jitter.
#include <functional>
#include <map>

#include "support/catch.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("a ladder by formula: each wait is the one before times the factor, cut at max, then the message is parked") {
    const std::vector<std::string> rungs{"80ms", "160ms", "250ms"};
    const std::vector<milliseconds> waits{milliseconds(80), milliseconds(160), milliseconds(250), milliseconds(250)};
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {});
    s.ladder().formula = {"first: 80ms", "factor: 2", "max: 250ms", "attempts: 4"};
    s.start();
    for (const std::string& delay : rungs)
        CHECK(await([&] { return s.exists(s.rung(work, delay)); }));
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    const Machine machine;
    Lateness lateness;
    Received message = worker.receive();
    for (std::size_t attempt = 1; attempt <= waits.size(); ++attempt) {
        CAPTURE(attempt);
        const Clock::time_point rejected = Clock::now();
        worker.reject(message);
        message = worker.receive();
        const milliseconds waited = since(rejected);
        CHECK(waited >= waits[attempt - 1]);
        lateness.add(waited, waits[attempt - 1]);
        CHECK(long_header(message, "retryd-attempt") == static_cast<std::int64_t>(attempt));
    }
    CHECK(lateness.least() < milliseconds(250) + machine.slack());
    worker.reject(message);
    CHECK(text_header(s.take(s.parking_of(work)), "retryd-parked-reason") == "attempts-exhausted");
}

namespace {

constexpr int jittered = 400;
const std::vector<std::string> lanes{"2s800ms", "3s200ms", "3s600ms", "4s"};

/// 400 messages that are rejected at one moment, on a rung of 4 s less up to 30 %.
struct Spread : Scenario {
    Spread() : work(work_queue("work")) {}

    Clock::time_point reject_all(Worker& worker) {
        for (int i = 0; i < jittered; ++i)
            client.send("", work, {.body = "x"});
        client.await_confirms();
        std::vector<Received> all;
        for (int i = 0; i < jittered; ++i)
            all.push_back(worker.receive());
        const Clock::time_point rejected = Clock::now();
        for (const Received& message : all)
            worker.reject(message);
        return rejected;
    }

    /// How many wait in each lane, once all of them do.
    std::map<std::string, std::uint32_t> waiting_in(const std::function<std::string(const std::string&)>& rung_of) {
        std::map<std::string, std::uint32_t> found;
        const bool all_wait = await([&] {
            std::uint32_t total = 0;
            for (const std::string& lane : lanes)
                total += found[lane] = depth(rung_of(lane));
            return total == jittered;
        });
        CHECK(all_wait);
        return found;
    }

    std::string work;
};

void check_spread(Spread& s, const std::function<std::string(const std::string&)>& rung_of) {
    s.ladder().jitter = "{width: 30%, lanes: 4}";
    s.start();
    for (const std::string& lane : lanes)
        REQUIRE(await([&] { return s.exists(rung_of(lane)); }));
    // Declared last. What is held because its rung is not there yet is decided anew, and takes a lane that is there.
    REQUIRE(await([&] { return s.exists(Scenario::parking_of(s.work)); }));
    Worker worker(s.work, jittered);
    const Machine machine;
    const Clock::time_point rejected = s.reject_all(worker);
    const auto waiting = s.waiting_in(rung_of);
    for (const auto& [lane, count] : waiting) {
        CAPTURE(lane);
        CHECK(count > 40);  // of 100 on average: less happens once in 10^12
    }

    std::vector<milliseconds> arrivals;
    for (int i = 0; i < jittered; ++i) {
        const Received back = worker.receive();
        arrivals.push_back(since(rejected));
        CHECK(long_header(back, "retryd-attempt") == 1);
        worker.ack(back);
    }
    CHECK(arrivals.front() >= milliseconds(2800));
    CHECK(arrivals.back() >= seconds(4));
    CHECK(arrivals.back() < seconds(4 + 2) + machine.slack());
    CHECK(worker.stays_idle(milliseconds(100)));
    s.stop();
}

}  // namespace

TEST_CASE("with jitter, what failed at one moment comes home spread over the lanes of its rung") {
    Spread s;
    s.retry(s.work, {"4s"});
    check_spread(s, [&](const std::string& lane) { return s.rung(s.work, lane); });
}

TEST_CASE("with jitter on a shared ladder, what failed at one moment comes home spread over the lanes of its rung") {
    Spread s;
    const std::string ladder = s.share({s.work}, {"4s"});
    check_spread(s, [&](const std::string& lane) { return s.shared_rung(ladder, lane); });
}
