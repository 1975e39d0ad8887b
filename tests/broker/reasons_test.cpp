// What happens to a message, by the reason of its death.
#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// basic.reject with requeue counts towards a delivery limit on every version; basic.nack does not from 4.3 on.
/// With a limit of 1 the second requeue exceeds it.
void die_of_delivery_limit(const Received& message, Worker& worker) {
    worker.client.reject(message.tag, true);
    worker.client.reject(worker.receive().tag, true);
}

}  // namespace

TEST_CASE("a message that dies of a quorum queue's delivery limit is retried, and parked after the last rung",
          "[3.8]") {
    Scenario s;
    const std::string work = s.quorum_work_queue("work", {{"x-delivery-limit", int32(1)}});
    s.retry(work, {"100ms", "150ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    die_of_delivery_limit(worker.receive(), worker);
    for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
        const Received back = worker.receive();
        CHECK(long_header(back, "retryd-attempt") == attempt);
        CHECK(text_header(back, "retryd-reason") == "delivery_limit");
        die_of_delivery_limit(back, worker);
    }
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(text_header(parked, "retryd-reason") == "delivery_limit");
    s.stop();
}

TEST_CASE("deaths of different reasons in one queue count together", "[3.8]") {
    Scenario s;
    const std::string work = s.quorum_work_queue("work", {{"x-delivery-limit", int32(1)}});
    s.retry(work, {"50ms", "50ms"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    die_of_delivery_limit(worker.receive(), worker);
    const Received back = worker.receive();
    CHECK(long_header(back, "retryd-attempt") == 2);
    worker.reject(back);
    CHECK(long_header(s.take(s.parking_of(work)), "retryd-attempt") == 3);
}

TEST_CASE("a message that expires in its work queue is parked as reason-expired", "[3.8]") {
    for (const char* type : {"classic", "quorum"}) {
        CAPTURE(type);
        Scenario s;
        if (std::string(type) == "quorum" && !s.has_quorum_ttl()) continue;
        const std::string work = s.work_queue("work", {{"x-queue-type", longstr(type)}, {"x-message-ttl", int32(50)}});
        s.retry(work, {"100ms"});
        s.start();
        s.client.publish("", work, {.body = "x"});
        const Received parked = s.take(s.parking_of(work));
        CHECK(text_header(parked, "retryd-parked-reason") == "reason-expired");
        CHECK(text_header(parked, "retryd-reason") == "expired");
        CHECK(text_header(parked, "retryd-queue") == work);
        CHECK(parked.body == "x");
    }
}

TEST_CASE("a message that a full work queue throws out is parked as reason-maxlen", "[3.8]") {
    for (const char* type : {"classic", "quorum"}) {
        CAPTURE(type);
        Scenario s;
        const std::string work = s.work_queue("work", {{"x-queue-type", longstr(type)}, {"x-max-length", int32(1)}});
        s.retry(work, {"100ms"});
        s.start();
        s.client.publish("", work, {.body = "oldest"});
        s.client.publish("", work, {.body = "newest"});
        const Received parked = s.take(s.parking_of(work));
        CHECK(text_header(parked, "retryd-parked-reason") == "reason-maxlen");
        CHECK(parked.body == "oldest");
        CHECK(s.take(work).body == "newest");
    }
}

TEST_CASE("a message that was retried and then expires in its work queue is parked, not lost as a cycle") {
    Scenario s;
    const std::string work = s.work_queue("work", {{"x-message-ttl", int32(300)}});
    s.retry(work, {"50ms", "50ms"});
    s.start();
    {
        Worker worker(work);  // there before the message, which would expire
        s.client.publish("", work, {.body = "x"});
        worker.reject(worker.receive());
        worker.client.nack(worker.receive().tag, true);
    }
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "reason-expired");
    CHECK(long_header(parked, "retryd-attempt") == 2);
}
