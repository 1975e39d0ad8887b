// A message comes back as it was, with exactly the exceptions that retryd promises.
#include <unistd.h>

#include <ctime>

#include "broker/every_type.h"
#include "support/broker_user.h"
#include "support/catch.h"
#include "support/forged.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Written by the broker on the return: deaths on the rung.
const std::vector<std::string> brokers_own{"x-death", "x-first-death-*", "x-last-death-*"};

std::string names(const Table& table) {
    std::string text;
    for (const Field& field : sorted(table))
        text += field.name + " ";
    return text;
}

Table ours(const Message& message) {
    Table result;
    for (const Field& field : message.headers) {
        if (field.name.starts_with("retryd-")) result.push_back(field);
    }
    return result;
}

Table theirs(const Message& message) {
    std::vector<std::string> taken_off = brokers_own;
    taken_off.push_back("retryd-*");
    return sorted(without(message.headers, taken_off));
}

constexpr const char* always =
    "retryd-attempt retryd-exchange retryd-first-death retryd-proof retryd-queue retryd-reason retryd-routing-key ";

/// A classic work queue with a 100 ms rung, and one message's way through it.
struct RoundTrip : Scenario {
    explicit RoundTrip(const std::string& delay = "100ms") : work(work_queue("work")) {
        retry(work, {delay});
        start();
    }

    Received reject_once(Worker& worker) {
        worker.reject(worker.receive());
        Received back = worker.receive();
        worker.ack(back);
        CHECK(worker.stays_idle(milliseconds(50)));
        return back;
    }

    std::string work;
};

}  // namespace

TEST_CASE("all properties and 200 headers of every type come back equal, and nothing else but retryd's own headers",
          "[3.8]") {
    RoundTrip s;
    Message message;
    message.body = std::string("body\0with zero", 14);
    for (int i = 0; message.headers.size() < 200; ++i) {
        for (Field& field : one_of_each("h" + std::to_string(i) + "-"))
            message.headers.push_back(std::move(field));
    }
    message.headers.push_back({"large", longstr(std::string(60'000, 'v'))});
    message.headers.push_back({"deep", nested_tables(50)});
    message.properties = {.content_type = "text/plain",
                          .content_encoding = "",
                          .delivery_mode = 2,
                          .priority = 3,
                          .correlation_id = "correlation",
                          .reply_to = "reply",
                          .message_id = "message",
                          .timestamp = 1'700'000'000,
                          .type = "type",
                          .user_id = "guest",
                          .app_id = "app",
                          .cluster_id = "cluster"};
    Worker worker(s.work);
    s.client.publish("", s.work, message);
    const Received back = s.reject_once(worker);

    CHECK(back.body == message.body);
    CHECK(back.properties == message.properties);
    CHECK(names(theirs(back)) == names(message.headers));
    CHECK(theirs(back) == sorted(message.headers));
    CHECK(names(ours(back)) == always);
    CHECK(back.routing_key == s.work);
    s.stop();
}

TEST_CASE("a message without properties comes back with delivery-mode 2 and no other property") {
    RoundTrip s;
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "x"});
    const Received back = s.reject_once(worker);
    CHECK(back.properties == Properties{.delivery_mode = 2});
    CHECK(theirs(back).empty());
}

TEST_CASE("retryd's headers say which queue, attempt, reason, first death and address, in the promised types",
          "[one-version]") {
    RoundTrip s;
    Worker worker(s.work);
    const auto before = static_cast<std::uint64_t>(std::time(nullptr));
    s.client.publish("", s.work, {.body = "x"});
    const Received back = s.reject_once(worker);
    CHECK(text_header(back, "retryd-queue") == s.work);
    CHECK(long_header(back, "retryd-attempt") == 1);
    CHECK(text_header(back, "retryd-reason") == "rejected");
    CHECK(text_header(back, "retryd-exchange") == "");
    CHECK(text_header(back, "retryd-routing-key") == s.work);
    const Value* first = find(back.headers, "retryd-first-death");
    REQUIRE(first != nullptr);
    REQUIRE(first->kind == 'T');
    CHECK(std::get<std::uint64_t>(first->data) + 1 >= before);
    CHECK(std::get<std::uint64_t>(first->data) <= before + 60);
}

TEST_CASE("a transient message comes back persistent") {
    RoundTrip s;
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "x", .properties = {.delivery_mode = 1}});
    CHECK(s.reject_once(worker).properties.delivery_mode == 2);
}

TEST_CASE("bodies of 0 bytes, of exactly one and two frames, and of 8 MiB come back equal") {
    RoundTrip s;
    Worker worker(s.work);
    constexpr std::size_t frame = 131072 - 8;
    for (const std::size_t size : {std::size_t{0}, frame - 1, frame, frame + 1, 2 * frame, std::size_t{8} << 20}) {
        CAPTURE(size);
        Message message;
        message.body.resize(size);
        for (std::size_t i = 0; i < size; ++i)
            message.body[i] = static_cast<char>(i * 31 + i / 251);
        s.client.publish("", s.work, message);
        const Received back = s.reject_once(worker);
        CHECK((back.body == message.body));
    }
    s.stop();
}

TEST_CASE("a priority is kept, below and above the one that needs a rung of its own", "[3.8]") {
    RoundTrip s;
    Worker worker(s.work);
    for (const std::uint8_t priority : {std::uint8_t{0}, std::uint8_t{4}, std::uint8_t{5}, std::uint8_t{255}}) {
        s.client.publish("", s.work, {.body = "x", .properties = {.priority = priority}});
        const Received back = s.reject_once(worker);
        REQUIRE(back.properties.priority.has_value());
        CHECK(static_cast<int>(*back.properties.priority) == static_cast<int>(priority));
    }
}

TEST_CASE("CC and BCC send no more copies: the message comes back once, to its queue alone") {
    RoundTrip s;
    const std::string cc = s.plain_queue("cc");
    const std::string bcc = s.plain_queue("bcc");
    Worker worker(s.work);
    s.client.publish("", s.work,
                     {.body = "x", .headers = {{"CC", array({longstr(cc)})}, {"BCC", array({longstr(bcc)})}}});
    REQUIRE(s.await_depth(cc, 1));
    REQUIRE(s.await_depth(bcc, 1));
    const Received back = s.reject_once(worker);
    CHECK(find(back.headers, "CC") == nullptr);
    CHECK(find(back.headers, "BCC") == nullptr);
    const Value* kept = find(back.headers, "retryd-cc");
    REQUIRE(kept != nullptr);
    CHECK(*kept == array({longstr(cc)}));
    CHECK(s.depth(cc) == 1);
    CHECK(s.depth(bcc) == 1);
}

TEST_CASE("a message with CC is parked once, in its parking queue alone") {
    RoundTrip s;
    const std::string cc = s.plain_queue("cc");
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "x", .headers = {{"CC", array({longstr(cc)})}}});
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    const Received parked = s.take(s.parking_of(s.work));
    CHECK(find(parked.headers, "CC") == nullptr);
    CHECK(find(parked.headers, "retryd-cc") != nullptr);
    CHECK(s.depth(cc) == 1);
}

TEST_CASE("an expiration is set aside and cuts no delay short", "[two-versions]") {
    RoundTrip s("400ms");
    Worker worker(s.work);
    SECTION("the broker took it off when the message died") {
        s.client.publish("", s.work, {.body = "x", .properties = {.expiration = "60000"}});
        const Received back = s.reject_once(worker);
        CHECK_FALSE(back.properties.expiration.has_value());
        CHECK(text_header(back, "retryd-expiration") == "60000");
        CHECK(names(ours(back)).find("retryd-expiration ") != std::string::npos);
    }
    SECTION("it still is on the message in the error queue") {
        const Clock::time_point start = Clock::now();
        s.client.publish(s.config.error_exchange, "",
                         {.body = "x", .headers = died_in(s.work), .properties = {.expiration = "200"}});
        const Received back = worker.receive();
        CHECK(since(start) >= milliseconds(400));
        CHECK_FALSE(back.properties.expiration.has_value());
        CHECK(text_header(back, "retryd-expiration") == "200");
    }
}

TEST_CASE("annotations that would delay or defer the message on its way are set aside, and prove nothing false") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms", "50ms"});
    s.start();
    Worker worker(work);
    const Value when = timestamp(4'000'000'000);
    s.client.publish(
        "", work,
        {.body = "x", .headers = {{"x-opt-delivery-time", when}, {"x-opt-deferral-token", longstr("later")}}});
    worker.reject(worker.receive());
    for (int round = 1; round <= 2; ++round) {
        const Received back = worker.receive();
        CAPTURE(round);
        CHECK(long_header(back, "retryd-attempt") == round);
        CHECK(find(back.headers, "x-opt-delivery-time") == nullptr);
        CHECK(find(back.headers, "x-opt-deferral-token") == nullptr);
        REQUIRE(find(back.headers, "retryd-delivery-time") != nullptr);
        CHECK(*find(back.headers, "retryd-delivery-time") == when);
        CHECK(text_header(back, "retryd-deferral-token") == "later");
        worker.reject(back);
    }
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(text_header(parked, "retryd-deferral-token") == "later");
    s.stop();
}

TEST_CASE("the user-id of another user is set aside, round after round") {
    const BrokerUser user("producer-" + std::to_string(::getpid()), {".*", ".*", ".*"});
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms", "50ms"});
    s.start();
    Client producer(user.address());
    Worker worker(work);
    producer.publish("", work, {.body = "x", .properties = {.user_id = user.name()}});
    worker.reject(worker.receive());
    const Received once = worker.receive();
    CHECK_FALSE(once.properties.user_id.has_value());
    CHECK(text_header(once, "retryd-user-id") == user.name());
    worker.reject(once);
    const Received twice = worker.receive();
    CHECK(text_header(twice, "retryd-user-id") == user.name());
    worker.reject(twice);
    const Received parked = s.take(s.parking_of(work));
    CHECK_FALSE(parked.properties.user_id.has_value());
    CHECK(text_header(parked, "retryd-user-id") == user.name());
    s.stop();
}

TEST_CASE("the broker's counters of deliveries do not travel on") {
    RoundTrip s;
    Worker worker(s.work);
    s.client.publish(s.config.error_exchange, "",
                     {.body = "x",
                      .headers = died_in(s.work, {{"x-delivery-count", int64(7)},
                                                  {"x-acquired-count", int64(7)},
                                                  {"x-last-death-queue", longstr("stale")},
                                                  {"x-kept", longstr("kept")}})});
    const Received back = worker.receive();
    CHECK(names(theirs(back)) == "x-kept ");
    CHECK(text_header(back, "x-last-death-queue") != "stale");
}

TEST_CASE("what was set aside in an earlier round is carried through the later ones", "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "topic");
    s.client.bind(work, events, "#");
    s.retry(work, {"50ms", "50ms", "50ms"});
    s.start();
    Worker worker(work);
    s.client.publish(events, "order.created",
                     {.body = "x",
                      .headers = {{"CC", array({longstr("nobody")})}, {"own", longstr("stays")}},
                      .properties = {.expiration = "60000"}});
    worker.reject(worker.receive());
    Received message = worker.receive();
    const Value* first_death = find(message.headers, "retryd-first-death");
    REQUIRE(first_death != nullptr);
    const Value first = *first_death;
    for (int round = 2; round <= 3; ++round) {
        worker.reject(message);
        message = worker.receive();
        CAPTURE(round);
        CHECK(long_header(message, "retryd-attempt") == round);
        CHECK(text_header(message, "retryd-exchange") == events);
        CHECK(text_header(message, "retryd-routing-key") == "order.created");
        CHECK(text_header(message, "retryd-expiration") == "60000");
        CHECK(text_header(message, "own") == "stays");
        REQUIRE(find(message.headers, "retryd-cc") != nullptr);
        CHECK(*find(message.headers, "retryd-cc") == array({longstr("nobody")}));
        CHECK(*find(message.headers, "retryd-first-death") == first);
    }
}
