// Ladders that are not plain lists: by formula, and with jitter.
#include <functional>
#include <map>

#include "broker/waits.h"
#include "support/catch.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

TEST_CASE("a ladder by formula: each wait is the one before times the factor, cut at max, then the message is parked",
          "[one-version]") {
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
    worker.reject(reject_through(worker, waits, [](const Received&) {}));
    CHECK(text_header(s.take(s.parking_of(work)), "retryd-parked-reason") == "attempts-exhausted");
}

namespace {

constexpr int rejected_at_once = 400;
constexpr int rejected_before = 40;
const std::vector<std::string> lanes{"2s800ms", "3s200ms", "3s600ms", "4s"};

/// Messages that are rejected at one moment, on a rung of 4 s less up to 30 %.
struct Spread : Scenario {
    Spread() : work(work_queue("work")) {}

    Clock::time_point reject_all(Worker& worker, int messages) {
        for (int i = 0; i < messages; ++i)
            client.send("", work, {.body = "x"});
        client.await_confirms();
        std::vector<Received> all;
        for (int i = 0; i < messages; ++i)
            all.push_back(worker.receive());
        const Clock::time_point rejected = Clock::now();
        for (const Received& message : all)
            worker.reject(message);
        return rejected;
    }

    std::string work;
};

/// The queue that the message was in last, by x-death.
std::string newest_death(const Message& message) {
    const Value* deaths = find(message.headers, "x-death");
    REQUIRE(deaths != nullptr);
    const Value* queue = find(std::get<Table>(std::get<Array>(deaths->data).front().data), "queue");
    REQUIRE(queue != nullptr);
    return std::get<std::string>(queue->data);
}

void check_spread(Spread& s, const std::function<std::string(const std::string&)>& rung_of) {
    s.ladder().jitter = "{width: 30%, lanes: 4}";
    s.start();
    for (const std::string& lane : lanes)
        REQUIRE(await([&] { return s.exists(rung_of(lane)); }));
    // Declared last. What would not wait for a lane that is being declared takes a detour.
    REQUIRE(await([&] { return s.exists(Scenario::parking_of(s.work)); }));
    Worker worker(s.work, rejected_at_once);
    // A lane that has not confirmed anything yet is sent a few at a time (TargetFlow): the others would take a detour.
    s.reject_all(worker, rejected_before);
    for (int i = 0; i < rejected_before; ++i)
        worker.ack(worker.receive());
    const Machine machine;
    const Clock::time_point rejected = s.reject_all(worker, rejected_at_once);
    std::map<std::string, int> waited_in;
    std::vector<milliseconds> arrivals;
    for (int i = 0; i < rejected_at_once; ++i) {
        const Received back = worker.receive();
        arrivals.push_back(since(rejected));
        CHECK(long_header(back, "retryd-attempt") == 1);
        ++waited_in[newest_death(back)];
        worker.ack(back);
    }
    for (const std::string& lane : lanes) {
        CAPTURE(lane);
        // Of 100; less where a lane was slow for a moment: those that would not wait for it took a detour, and may
        // then have taken another.
        CHECK(waited_in[rung_of(lane)] > 50);
    }
    CHECK(arrivals.front() >= milliseconds(2800));
    CHECK(arrivals.back() >= seconds(4));
    CHECK(arrivals.back() < seconds(4 + 2) + machine.slack());
    CHECK(worker.stays_idle(milliseconds(100)));
    s.stop();
}

}  // namespace

TEST_CASE("with jitter, what failed at one moment comes back spread over the lanes of its rung", "[one-version]") {
    Spread s;
    s.retry(s.work, {"4s"});
    check_spread(s, [&](const std::string& lane) { return s.rung(s.work, lane); });
}

TEST_CASE("with jitter on a shared ladder, what failed at one moment comes back spread over the lanes of its rung",
          "[one-version]") {
    Spread s;
    const std::string ladder = s.share({s.work}, {"4s"});
    check_spread(s, [&](const std::string& lane) { return s.shared_rung(ladder, lane); });
}
