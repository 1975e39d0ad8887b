// `max_age`: how long after its first death a message is still retried.
#include <ctime>

#include "support/catch.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// The headers of a message that died in that queue for the first time so many hours ago.
Table first_died(std::uint64_t hours_ago, const std::string& queue) {
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    return {{"retryd-queue", longstr(queue)}, {"retryd-first-death", timestamp(now - hours_ago * 3600)}};
}

struct Aged : Scenario {
    Aged() : limited(work_queue("limited")), unlimited(work_queue("unlimited")) {
        retry(limited, {"50ms"});
        entry().max_age = "24h";
        retry(unlimited, {"50ms"});
        start();
    }

    void reject_one(Worker& worker, const std::string& queue, const Table& headers) {
        client.publish("", queue, {.body = "x", .headers = proven(headers, config)});
        worker.reject(worker.receive());
    }

    std::string limited;
    std::string unlimited;
};

}  // namespace

TEST_CASE("a message whose first death is 25 hours ago is parked as too-old where max_age is 24h", "[one-version]") {
    Aged s;
    Worker worker(s.limited);
    const Table headers = first_died(25, s.limited);
    s.reject_one(worker, s.limited, headers);
    const Received parked = s.take(s.parking_of(s.limited));
    CHECK(text_header(parked, "retryd-parked-reason") == "too-old");
    CHECK(text_header(parked, "retryd-queue") == s.limited);
    CHECK(*find(parked.headers, "retryd-first-death") == *find(headers, "retryd-first-death"));
    CHECK(worker.stays_idle(milliseconds(200)));
}

TEST_CASE("a message whose first death is 23 hours ago is retried where max_age is 24h, and keeps its first death",
          "[one-version]") {
    Aged s;
    Worker worker(s.limited);
    const Table headers = first_died(23, s.limited);
    s.reject_one(worker, s.limited, headers);
    const Received back = worker.receive();
    CHECK(long_header(back, "retryd-attempt") == 1);
    CHECK(*find(back.headers, "retryd-first-death") == *find(headers, "retryd-first-death"));
}

TEST_CASE("a message whose first death is 25 hours ago is retried where there is no max_age", "[one-version]") {
    Aged s;
    Worker worker(s.unlimited);
    s.reject_one(worker, s.unlimited, first_died(25, s.unlimited));
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
}

TEST_CASE("a first death in another queue is none here", "[one-version]") {
    Aged s;
    Worker worker(s.limited);
    s.reject_one(worker, s.limited, first_died(25, s.unlimited));
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
}

TEST_CASE("a message that grows too old between its retries is parked instead of waiting on the next rung",
          "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"5s200ms", "30s"});  // stamps are whole seconds: within 5.2 s at least five of them pass
    s.entry().max_age = "4s";           // a busy machine may take some seconds for the first failure
    s.start();
    s.await_declared();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "too-old");
    CHECK(long_header(parked, "retryd-attempt") == 2);
}
