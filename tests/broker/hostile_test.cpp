// Malformed and forged messages: they are parked or retried, and the daemon neither crashes nor loops.

#include <algorithm>
#include <limits>
#include <sstream>

#include "support/catch.h"
#include "support/deep_stack.h"
#include "support/forged.h"
#include "support/management.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A daemon with one exact entry and one glob, and a check that it still works.
struct Hostile : Scenario {
    Hostile() : work(work_queue("work")) {
        retry(work, {"50ms", "60ms"});
        retry(queue_name("glob.*"), {"50ms"});
        start();
    }

    void to_error_exchange(const std::string& body, const Table& headers) {
        client.publish(config.error_exchange, "", {.body = body, .headers = headers});
    }

    /// Consumes the message, which must be the only one there.
    Received take_parked(const std::string& queue) {
        Received parked = take(queue);
        CHECK(depth(queue) == 0);
        return parked;
    }

    /// A well-formed message is retried, by the daemon that was started first.
    void check_still_works() {
        Worker worker(work);
        client.publish("", work, {.body = "honest"});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(back.body == "honest");
        CHECK(long_header(back, "retryd-attempt") == 1);
        worker.ack(back);
        CHECK(daemon.running());
        CHECK(await([&] { return depth(config.error_queue) == 0; }));
    }

    std::string work;
};

}  // namespace

TEST_CASE("an x-death of the wrong type or shape is parked in the catch-all as no-death") {
    Hostile s;
    const std::string q = s.work;
    const std::vector<Value> unreadable{
        longstr("x"),
        int32(1),
        boolean(true),
        Value{},
        table({{"queue", longstr(q)}, {"reason", longstr("rejected")}}),
        array({}),
        array({longstr(q)}),
        array({Value{}}),
        array({array({death_entry(q)})}),
        array({table({})}),
        array({table({{"queue", longstr(q)}})}),
        array({table({{"reason", longstr("rejected")}})}),
        array({table({{"queue", int32(1)}, {"reason", longstr("rejected")}})}),
        array({table({{"queue", longstr(q)}, {"reason", boolean(true)}})}),
        array({table({{"queue", table({})}, {"reason", array({})}})}),
    };
    for (std::size_t i = 0; i < unreadable.size(); ++i) {
        CAPTURE(i);
        s.to_error_exchange(std::to_string(i), {{"x-death", unreadable[i]}});
        const Received parked = s.take_parked(s.config.catch_all);
        CHECK(parked.body == std::to_string(i));
        CHECK(text_header(parked, "retryd-parked-reason") == "no-death");
    }
    s.check_still_works();
    s.stop();
}

TEST_CASE("negative, zero, missing and odd counts are one death; a huge count is parked as exhausted",
          "[one-version]") {
    Hostile s;
    const auto with_count = [&](const Value& count) {
        return Table{{"x-death",
                      array({table({{"queue", longstr(s.work)}, {"reason", longstr("rejected")}, {"count", count}})})}};
    };
    const std::vector<Value> as_one{int64(-1), int64(std::numeric_limits<std::int64_t>::min()),
                                    int64(0),  longstr("many"),
                                    Value{},   array({}),
                                    int32(1),  signed_of('s', 1)};
    for (const Value& count : as_one) {
        CAPTURE(describe(count));
        s.to_error_exchange("x", with_count(count));
        CHECK(long_header(s.take(s.work), "retryd-attempt") == 1);
    }
    for (const Value& count : {int64(std::numeric_limits<std::int64_t>::max()), int32(2147483647), int64(3)}) {
        CAPTURE(describe(count));
        s.to_error_exchange("x", with_count(count));
        CHECK(text_header(s.take_parked(s.parking_of(s.work)), "retryd-parked-reason") == "attempts-exhausted");
    }
    s.check_still_works();
    s.stop();
}

TEST_CASE("headers that claim to be retryd's, with wrong types or numbers, neither stop nor prolong a message's way",
          "[3.8]") {
    Hostile s;
    Worker worker(s.work);
    const std::vector<Value> worthless{longstr("7"),      int64(-5),     Value{},          table({}),
                                       array({int64(7)}), boolean(true), Value{'d', 1e300}};
    for (const Value& attempt : worthless) {
        CAPTURE(describe(attempt));
        s.client.publish("", s.work,
                         {.body = "x",
                          .headers = {{"retryd-queue", longstr(s.work)},
                                      {"retryd-attempt", attempt},
                                      {"retryd-first-death", longstr("yesterday")},
                                      {"retryd-exchange", int32(1)},
                                      {"retryd-cc", longstr("not an array")},
                                      {"retryd-user-id", table({})},
                                      {"retryd-parked-reason", longstr("forged")},
                                      {"retryd-parked-at", longstr("forged")}}});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(long_header(back, "retryd-attempt") == 1);
        const Value* first = find(back.headers, "retryd-first-death");
        CHECK((first != nullptr && first->kind == 'T'));
        CHECK(text_header(back, "retryd-exchange") == "");
        CHECK(find(back.headers, "retryd-parked-reason") == nullptr);
        worker.ack(back);
    }
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t attempt : {huge, huge - 1, std::int64_t{2}}) {
        const Table claims{{"retryd-queue", longstr(s.work)}, {"retryd-attempt", int64(attempt)}};
        s.client.publish("", s.work, {.body = "x", .headers = claims});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(long_header(back, "retryd-attempt") == 1);
        worker.ack(back);
        s.client.publish("", s.work, {.body = "x", .headers = proven(claims, s.config)});
        worker.reject(worker.receive());
        const Received parked = s.take_parked(s.parking_of(s.work));
        CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
        CHECK(long_header(parked, "retryd-attempt") > 0);
    }
    s.client.publish("", s.work, {.body = "x", .headers = {{"retryd-queue", int32(1)}, {"retryd-attempt", int64(9)}}});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    s.stop();
}

TEST_CASE("names that no queue can have are parked as no-death, others that match nothing as no-entry",
          "[one-version]") {
    Hostile s;
    for (const std::string& name :
         {std::string(), std::string("a\nb"), std::string("a\r\nb"), std::string(300, 'q'), std::string("\xff\xfe"),
          std::string("nul\0byte", 8), s.queue_name("glob.") + "\xff"}) {
        CAPTURE(name);
        s.to_error_exchange("x", died_in(name));
        CHECK(text_header(s.take_parked(s.config.catch_all), "retryd-parked-reason") == "no-death");
    }
    for (const std::string& name :
         {std::string("*"), std::string("?"), std::string(255, 'q'), s.work + ".parked", std::string("amq.gen-x"),
          s.config.catch_all, s.rung(s.work, "50ms"), std::string("retryd.any.5s")}) {
        CAPTURE(name);
        s.to_error_exchange("x", died_in(name));
        CHECK(text_header(s.take_parked(s.config.catch_all), "retryd-parked-reason") == "no-entry");
    }
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.check_still_works();
    s.stop();
}

TEST_CASE("a forged x-death that names the error queue: RabbitMQ before 3.13 drops what expires with it, no other") {
    Hostile s;
    const std::string expiring = s.work_queue("glob.expiring", {{"x-message-ttl", int32(1)}});
    const Table forged{{"x-death", array({death_entry(s.config.error_queue, "expired")})}};
    s.client.publish("", expiring, {.body = "forged", .headers = forged});
    s.client.publish("", expiring, {.body = "honest"});
    if (version_of(s.client) >= Version{3, 13}) {
        CHECK(s.await_depth(s.parking_of(expiring), 2));
    } else {
        CHECK(s.take_parked(s.parking_of(expiring)).body == "honest");
    }
    s.check_still_works();
    s.stop();
}

TEST_CASE("an x-death that names a queue which does not exist is parked as queue-gone and leaves no rungs behind") {
    Hostile s;
    for (int i = 0; i < 20; ++i) {
        const std::string ghost = s.queue_name("glob." + std::to_string(i) + "*");
        s.to_error_exchange("x", died_in(ghost));
        const Received parked = s.take_parked(s.config.catch_all);
        CHECK(text_header(parked, "retryd-parked-reason") == "queue-gone");
        CHECK(text_header(parked, "retryd-queue") == ghost);
        CHECK_FALSE(s.exists(s.rung(ghost, "50ms")));
        CHECK_FALSE(s.exists(s.parking_of(ghost)));
        CHECK_FALSE(s.exists(ghost));
    }
    s.check_still_works();
    s.stop();
}

TEST_CASE("a queue that came into being after it was missed is retried from then on", "[one-version]") {
    Hostile s;
    const std::string late = s.queue_name("glob.late");
    s.to_error_exchange("x", died_in(late));
    CHECK(text_header(s.take_parked(s.config.catch_all), "retryd-parked-reason") == "queue-gone");
    s.work_queue("glob.late");
    Worker worker(late);
    s.client.publish("", late, {.body = "y"});
    worker.reject(worker.receive());
    CHECK(worker.receive().body == "y");
}

TEST_CASE("a work queue with a name of 255 bytes gets rungs and a parking queue that fit, and its messages come back") {
    Hostile s;
    std::string name = "glob.";
    name.resize(255 - s.queue_name("").size(), 'q');
    const std::string work = s.work_queue(name);
    REQUIRE(work.size() == 255);
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    const Received back = worker.receive();
    CHECK(text_header(back, "retryd-queue") == work);
    worker.reject(back);

    // How their names are shortened is not specified, so they are found by the beginning.
    std::vector<std::string> made;
    CHECK(await([&] {
        made.clear();
        for (const std::string& queue : queue_names()) {
            if (queue.starts_with(work.substr(0, 100)) && queue != work) made.push_back(queue);
        }
        return made.size() == 2;  // the rung and the parking queue
    }));
    CHECK(
        await([&] { return std::any_of(made.begin(), made.end(), [&](auto& queue) { return s.depth(queue) == 1; }); }));
    for (const std::string& queue : made) {
        CHECK(queue.size() <= 255);
        s.client.delete_queue(queue);
    }
    s.stop();
}

TEST_CASE("headers nested 5,000 deep are set aside by the broker itself, and the daemon works on") {
    Hostile s;
    const std::string expiring = s.work_queue("glob.expiring", {{"x-message-ttl", int32(1)}});
    std::uint32_t expected = 0;
    const DeepStack stack;
    for (Value (*nested)(int) : {nested_tables, nested_arrays}) {
        for (const int levels : {150, 5000}) {
            CAPTURE(levels);
            Message message{.body = "deep", .headers = Table(1)};
            message.headers[0].name = "deep";
            message.headers[0].value = nested(levels);
            // Not consumed by the test client: newer versions of rabbitmq-c end the connection when they read such a
            // table.
            s.client.publish("", expiring, message);
            CHECK(s.await_depth(s.config.catch_all, ++expected));
            message.headers.push_back({"x-death", array({death_entry(s.work)})});
            s.client.publish(s.config.error_exchange, "", message);
            CHECK(s.await_depth(s.config.catch_all, ++expected));
        }
    }
    s.check_still_works();
    s.stop();
}

TEST_CASE("headers that leave no room in a frame for retryd's own are set aside, and the daemon works on") {
    Hostile s;
    // What arrives fits into a frame of 131,072 bytes; what would be published does not.
    const Table short_death{{"queue", longstr(s.work)}, {"reason", longstr("rejected")}};
    const auto with_large = [&](std::size_t size) {
        return Table{{"x-death", array({table(short_death)})}, {"large", longstr(std::string(size, 'v'))}};
    };
    s.to_error_exchange("full", with_large(130'935));
    CHECK(s.await_depth(s.config.catch_all, 1));
    CHECK(s.depth(s.work) == 0);
    s.to_error_exchange("fits", with_large(130'000));
    CHECK(s.take(s.work).body == "fits");
    s.check_still_works();
    s.stop();
}

TEST_CASE("headers that the broker's own x-death pushes beyond a frame neither stop the daemon nor loop") {
    Hostile s;
    const std::string expiring = s.work_queue("glob.expiring", {{"x-message-ttl", int32(1)}});
    s.client.publish("", expiring, {.body = "full", .headers = {{"large", longstr(std::string(131'000, 'v'))}}});
    CHECK(s.await_depth(s.config.catch_all, 1));
    s.check_still_works();
    s.stop();
}

TEST_CASE("one hostile message after another does not fill the log with its contents", "[one-version]") {
    Hostile s;
    for (int i = 0; i < 50; ++i)
        s.client.send(s.config.error_exchange, "",
                      {.body = "SECRET-BODY", .headers = {{"x-death", longstr("SECRET-HEADER")}}});
    s.client.await_confirms();
    REQUIRE(s.await_depth(s.config.catch_all, 50));
    CHECK(s.daemon.log().find("SECRET-BODY") == std::string::npos);
    CHECK(s.daemon.log().find("SECRET-HEADER") == std::string::npos);
    s.stop();
}

TEST_CASE("a death in one of the broker's addresses for direct replies goes to the catch-all, and makes no queue") {
    Scenario s;
    s.retry("*", {"50ms"});
    s.start();
    CHECK(s.exists("amq.rabbitmq.reply-to"));  // so the broker says
    for (const std::string& name :
         {std::string("amq.rabbitmq.reply-to"), std::string("amq.rabbitmq.reply-to.g1h2AA5yZXBseUAxMjM")}) {
        CAPTURE(name);
        s.client.publish(s.config.error_exchange, "", {.body = "x", .headers = died_in(name)});
        CHECK(text_header(s.take(s.config.catch_all), "retryd-parked-reason") == "no-entry");
    }
    // The broker ends a connection that asks it for one that is not real (541): retryd must not ask.
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    for (const std::string& queue : queue_names())
        CHECK_FALSE(queue.starts_with("amq.rabbitmq"));
    s.stop();
}
