// The ladder on a real broker: how long each attempt waits, and what happens after the last one.
#include "broker/waits.h"
#include "support/catch.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Rejects a message until the ladder is used up. It may not come back before the delay of its rung is over, and not
/// much later.
void check_every_attempt(const std::string& work_type, const std::string& rung_type) {
    INFO("work queue: " << work_type << ", rungs: " << rung_type);
    const std::vector<milliseconds> waits{milliseconds(150), milliseconds(300), milliseconds(80)};
    Scenario s;
    const std::string work = s.work_queue("work", {{"x-queue-type", longstr(work_type)}});
    s.retry(work, {"150ms", "300ms", "80ms"}, rung_type);
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "payload"});
    worker.reject(reject_through(worker, waits, [](const Received& message) { CHECK(message.body == "payload"); }));
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(long_header(parked, "retryd-attempt") == 4);
    CHECK(parked.body == "payload");
    CHECK(worker.stays_idle(milliseconds(200)));
    s.stop();
}

}  // namespace

TEST_CASE("attempt n waits on the n-th rung, then the message is parked: classic work queue, quorum rungs", "[3.8]") {
    check_every_attempt("classic", "quorum");
}

TEST_CASE("attempt n waits on the n-th rung, then the message is parked: quorum work queue, quorum rungs", "[3.8]") {
    check_every_attempt("quorum", "quorum");
}

TEST_CASE("attempt n waits on the n-th rung, then the message is parked: classic work queue, classic rungs", "[3.8]") {
    check_every_attempt("classic", "classic");
}

TEST_CASE("attempt n waits on the n-th rung, then the message is parked: quorum work queue, classic rungs", "[3.8]") {
    check_every_attempt("quorum", "classic");
}

TEST_CASE("a delay that stands in the ladder several times is one rung and several attempts", "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms x3"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    Received message = worker.receive();
    for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
        worker.reject(message);
        message = worker.receive();
        CHECK(long_header(message, "retryd-attempt") == attempt);
    }
    worker.reject(message);
    CHECK(text_header(s.take(s.parking_of(work)), "retryd-parked-reason") == "attempts-exhausted");
    CHECK(s.exists(s.rung(work, "100ms")));
    s.client.delete_queue(s.rung(work, "100ms"));
}

TEST_CASE("a work queue that a policy connects to the error exchange is retried like any other") {
    Scenario s;
    const std::string work = s.plain_queue("by-policy");  // no argument of ours on it
    s.retry(work, {"100ms"});
    s.start();
    set_policy(work, "^" + work + "$", R"({"dead-letter-exchange": ")" + s.config.error_exchange + R"("})");
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
}
