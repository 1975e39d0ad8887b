// What RabbitMQ says of a queue has room for 255 bytes, and from 4.0 on it ends the connection where it does not fit:
// names and arguments in letters of several bytes make it do so. Whoever may declare a queue that a glob matches can
// choose such a name; nobody else pays for it.
#include <string>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

std::string letters(std::size_t bytes) {
    std::string text;
    while (text.size() + 3 <= bytes)
        text += "注";
    return text;
}

struct LongNames : Scenario {
    LongNames() : work(work_queue("work")) {
        retry(work, {"100ms", "200ms"});
        retry(queue_name("glob.*"), {"100ms"});
        entry().on = "{expired: retry}";
        config.management_url = management_url();
        config.http = "127.0.0.1:0";
        start();
        await_declared();
    }

    void retry_once() {
        Worker worker(work);
        client.publish("", work, {.body = "good"});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(long_header(back, "retryd-attempt") == 1);
        worker.ack(back);
        CHECK(worker.stays_idle(milliseconds(300)));
    }

    std::string work;
};

}  // namespace

TEST_CASE("a queue with a name of 250 bytes that is gone when its message has died: parked, and nobody is held up",
          "[one-version]") {
    LongNames s;
    s.stop();
    for (int i = 0; i < 3; ++i) {
        const std::string name = "glob." + std::to_string(i);
        const std::string queue =
            s.work_queue(name + letters(250 - s.queue_name(name).size()), {{"x-message-ttl", int32(1)}});
        s.client.publish("", queue, {.body = "x"});
        REQUIRE(s.await_depth(s.config.error_queue, static_cast<std::uint32_t>(i) + 1));
        s.client.delete_queue(queue);
    }
    s.start();
    s.retry_once();
    CHECK(s.await_depth(s.config.catch_all, 3));
    CHECK(text_header(s.take(s.config.catch_all), "retryd-parked-reason") == "queue-gone");
    CHECK(s.daemon.lines_with({"connected to"}) == 2);  // once for each start
    CHECK(s.daemon.lines_with({"ended the connection: "}) == 0);
    s.stop();
}

TEST_CASE("commands tell of queues whose names are too long to be refused", "[one-version]") {
    LongNames s;
    const std::string queue = s.work_queue("glob." + letters(250 - s.queue_name("glob.").size()));
    {
        Worker worker(queue);
        s.client.publish("", queue, {.body = "x"});
        worker.reject(worker.receive());
        worker.ack(worker.receive());
    }
    for (const char* words : {"status", "plan", "parked list"}) {
        const CommandResult result = run_retryd(std::string(words) + " -c " + s.daemon.config_file());
        CAPTURE(words, result.err);
        CHECK(result.code != 1);
        CHECK_FALSE(result.says({"INTERNAL_ERROR"}));
    }
    // Among what the daemon counts is a rung for high priorities that is not there.
    const std::string counted = "retryd_queue_messages{queue=\"" + s.config.catch_all + "\",role=\"parked\"}";
    CHECK(Served(s.daemon).await_metric(counted, 0));
    s.stop();
}

TEST_CASE("a queue with the name of a rung, and an argument that is too long to be told, holds up its own work queue",
          "[one-version][since-3.10]") {
    LongNames s;
    const std::string own = s.work_queue("glob.own", {{"x-message-ttl", int32(1)}});
    // As retryd declares it, so that this one is the first difference: with it the text has fewer than 255 letters, but
    // more bytes.
    s.client.declare_queue(s.rung(own, "100ms"), {{"x-queue-type", longstr("quorum")},
                                                  {"x-message-ttl", int32(100)},
                                                  {"x-dead-letter-exchange", longstr(letters(165))},
                                                  {"x-dead-letter-strategy", longstr("at-least-once")},
                                                  {"x-overflow", longstr("reject-publish")}});
    for (int i = 0; i < 3; ++i)
        s.client.publish("", own, {.body = "x"});
    CHECK(s.await_depth(s.parking_of(own), 3));
    for (int i = 0; i < 3; ++i)
        s.retry_once();
    CHECK(text_header(s.take(s.parking_of(own)), "retryd-parked-reason") == "unpublishable");
    CHECK(s.daemon.lines_with({"connected to"}) <= 2);
    CHECK(s.daemon.lines_with({"ended the connection: "}) == 0);
    CHECK(s.daemon.lines_with({"error", s.rung(own, "100ms")}) >= 1);
    s.stop();
}
