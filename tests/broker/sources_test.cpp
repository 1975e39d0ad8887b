// Error queues of frameworks on a real broker: what is put there is retried by the ladder of its work queue, comes back
// as it was before it failed, and is parked at the end. The frameworks are not there: the test puts messages away as
// they do (their sources are named in src/core/dialects.cpp and src/core/dialect_easynetq.cpp).
#include <array>
#include <cstdint>
#include <ctime>
#include <set>

#include "support/catch.h"
#include "support/machine.h"
#include "support/parked_scene.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

// A message as a framework puts it away.

/// Broker's own headers are not copied: a client library gives them, but they mean nothing here.
Message copy_with(const Received& failed, const Table& more) {
    Message message = failed;
    message.headers.insert(message.headers.end(), more.begin(), more.end());
    return message;
}

Message as_masstransit(const Received& failed, const std::string& work) {
    return copy_with(failed, {{"MT-Host-MachineName", longstr("web1")},
                              {"MT-Reason", longstr("fault")},
                              {"MT-Fault-ExceptionType", longstr("System.Exception")},
                              {"MT-Fault-InputAddress", longstr("rabbitmq://localhost/vhost/" + work)},
                              {"MT-Fault-Message", longstr("no stock")},
                              {"MT-Fault-Timestamp", longstr("2026-11-23T05:21:01.1234567Z")},
                              {"MT-Fault-StackTrace", longstr("   at Orders.Consume()")}});
}

Message as_spring(const Received& failed, const std::string& work) {
    return copy_with(failed, {{"x-exception-message", longstr("no stock")},
                              {"x-exception-stacktrace", longstr("java.lang.RuntimeException: no stock")},
                              {"x-original-exchange", longstr("")},
                              {"x-original-routingKey", longstr(work)}});
}

Message as_somebody(const Received& failed, const std::string& work) {
    Received again = failed;  // it adds no header twice
    again.headers = without(failed.headers, {"my-*"});
    return copy_with(again, {{"my-origin", longstr(work)}, {"my-exception", longstr("no stock")}});
}

/// .NET gives every header to a consumer as text, and makes text of every value.
Message as_rebus(const Received& failed, const std::string& work) {
    Message message = failed;
    for (Field& field : message.headers) {
        if (const auto* number = std::get_if<std::int64_t>(&field.value.data)) {
            field.value = longstr(std::to_string(*number));
        } else if (const auto* seconds = std::get_if<std::uint64_t>(&field.value.data)) {
            field.value = longstr("((time_t)" + std::to_string(*seconds) + ")");
        } else if (!std::holds_alternative<std::string>(field.value.data)) {
            field.value = longstr("System.Collections.Generic.List`1[System.Object]");
        }
    }
    message.headers.push_back({"rbs2-delivery-count", longstr("6")});
    message.headers.push_back({"rbs2-source-queue", longstr(work)});
    message.headers.push_back({"rbs2-error-details", longstr("no stock")});
    return message;
}

/// As NServiceBus does: as text, its own way; and what the broker has written of deaths is taken off.
Message as_nservicebus(const Received& failed, const std::string& work) {
    Message message = failed;
    message.headers = without(failed.headers, {"x-death", "x-first-death-*"});
    for (Field& field : message.headers) {
        if (const auto* number = std::get_if<std::int64_t>(&field.value.data)) {
            field.value = longstr(std::to_string(*number));
        } else if (const auto* seconds = std::get_if<std::uint64_t>(&field.value.data)) {
            const auto time = static_cast<std::time_t>(*seconds);
            std::tm parts{};
            gmtime_r(&time, &parts);
            std::array<char, 40> text{};
            std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S:000000 Z", &parts);
            field.value = longstr(text.data());
        }
    }
    message.headers.push_back({"NServiceBus.FailedQ", longstr(work)});
    message.headers.push_back({"NServiceBus.ExceptionInfo.ExceptionType", longstr("System.Exception")});
    message.headers.push_back({"NServiceBus.ExceptionInfo.Message", longstr("no stock")});
    message.headers.push_back({"NServiceBus.TimeOfFailure", longstr("2026-11-23 05:21:01:123456 Z")});
    return message;
}

/// With the stamps as JSON in headers. The queue's name is the routing key.
Message as_symfony(const Received& failed, const std::string& /*work*/) {
    const std::string stamp = "X-Message-Stamp-Symfony\\Component\\Messenger\\Stamp\\";
    return copy_with(
        failed, {{stamp + "SentToFailureTransportStamp", longstr(R"([{"originalReceiverName":"async"}])")},
                 {stamp + "ErrorDetailsStamp", longstr(R"([{"exceptionClass":"E","exceptionMessage":"no stock"}])")},
                 {stamp + "RedeliveryStamp", longstr(R"([{"retryCount":0}])")}});
}

std::string base64(const std::string& text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string encoded;
    for (std::size_t at = 0; at < text.size(); at += 3) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i)
            bits = bits << 8U | (at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            encoded += at + i > text.size() ? '=' : digits[bits >> (18 - 6 * i) & 0x3fU];
    }
    return encoded;
}

std::string json(const std::string& text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string quoted = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || c == '"' || c == '\\' || c == '+') {
            quoted += "\\u00";
            quoted += hex[byte >> 4U];
            quoted += hex[byte & 0xfU];
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

std::string json_table(const Table& table);

/// As JsonHeaderExtensions.cs writes it.
std::string json(const Value& value) {
    const auto typed = [](int type, const std::string& text) {
        return "{\"Type\":" + std::to_string(type) + ",\"Value\":" + text + "}";
    };
    if (const auto* text = std::get_if<std::string>(&value.data)) return typed(14, json(base64(*text)));
    if (const auto* truth = std::get_if<bool>(&value.data)) return typed(2, *truth ? "true" : "false");
    if (const auto* number = std::get_if<std::int64_t>(&value.data))
        return typed(value.kind == 'I' ? 6 : 8, std::to_string(*number));
    if (const auto* seconds = std::get_if<std::uint64_t>(&value.data)) return typed(12, std::to_string(*seconds));
    if (const auto* table = std::get_if<Table>(&value.data)) return typed(16, json_table(*table));
    if (const auto* list = std::get_if<Array>(&value.data)) {
        std::string items;
        for (const Value& item : *list)
            items += (items.empty() ? "" : ",") + json(item);
        return typed(15, "[" + items + "]");
    }
    return typed(1, "null");
}

std::string json_table(const Table& table) {
    std::string members;
    for (const Field& field : table)
        members += (members.empty() ? "" : ",") + json(field.name) + ":" + json(field.value);
    return "{" + members + "}";
}

Message as_easynetq(const Received& failed, const std::string& work) {
    const Properties& was = failed.properties;
    Message message;
    message.properties.type = "EasyNetQ.SystemMessages.Error, EasyNetQ";
    message.properties.delivery_mode = 2;
    message.body = "{\"RoutingKey\":" + json(failed.routing_key) + ",\"Exchange\":" + json(failed.exchange) +
                   ",\"Queue\":" + json(work) +
                   ",\"Exception\":\"System.Exception: no stock\",\"Message\":" + json(failed.body) +
                   ",\"DateTime\":\"2026-11-23T05:21:01.1234567Z\",\"BasicProperties\":{\"ContentType\":" +
                   json(was.content_type.value_or("")) +
                   ",\"DeliveryMode\":2,\"CorrelationId\":" + json(was.correlation_id.value_or("")) +
                   ",\"MessageId\":" + json(was.message_id.value_or("")) + ",\"Type\":" + json(was.type.value_or("")) +
                   ",\"Headers\":" + json_table(failed.headers) + "}}";
    return message;
}

// The scene.

const Message original{.body = "{\"name\":\"Zo\xc3\xab\",\n\"price\":\"1+1\"}",
                       .headers = {{"mine", longstr("Zo\xc3\xab + \"x\"")}, {"also", longstr("a")}},
                       .properties = {.content_type = "application/json",
                                      .delivery_mode = 2,
                                      .correlation_id = "c-1",
                                      .message_id = "m-1",
                                      .type = "Orders.Paid, Orders"}};

void check_is_original(const Received& message) {
    CHECK(message.body == original.body);
    CHECK(message.properties == original.properties);
    CHECK(sorted(without(message.headers, {"retryd-*", "x-death", "x-first-death-*", "x-last-death-*", "my-*"})) ==
          sorted(original.headers));
}

using PutAway = Message (*)(const Received& failed, const std::string& work);

/// Fails until the ladder is used up, is parked, replayed, and fails no more. `keys`: of the source.
void check_retried_and_parked(const std::string& dialect, const std::string& suffix, const std::string& keys,
                              PutAway put_away) {
    ParkedScene s;
    const std::string work = s.plain_queue("framework");
    const std::string source = s.plain_queue("framework" + suffix);
    s.retry(work, {"100ms", "200ms"});
    s.config.sources = "[{queue: \"" + source + "\", dialect: " + dialect + keys + "}]";
    s.start();
    // By an exchange, with the name of the work queue as the key: one of the frameworks does that.
    const std::string exchange = s.exchange_name("failed");
    s.client.declare_exchange(exchange, "fanout");
    s.client.bind(source, exchange);
    Worker worker(work);
    s.client.publish("", work, original);
    for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
        CAPTURE(attempt);
        const Received failed = worker.receive();
        check_is_original(failed);
        if (attempt > 1) CHECK(long_header(failed, "retryd-attempt") == attempt - 1);
        CHECK(find(failed.headers, "retryd-exception") == nullptr);
        s.client.publish(exchange, work, put_away(failed, work));
        worker.ack(failed);
    }
    REQUIRE(s.await_depth(s.parking_of(work), 1));
    CHECK(s.await_depth(source, 0));
    CHECK(s.parked("replay --all").code == 0);
    const Received replayed = worker.receive();
    check_is_original(replayed);
    CHECK(find(replayed.headers, "retryd-attempt") == nullptr);
    CHECK(find(replayed.headers, "retryd-exception") == nullptr);
    for (int attempt = 1; attempt <= 3; ++attempt) {
        const Received failed = attempt == 1 ? replayed : worker.receive();
        s.client.publish(exchange, work, put_away(failed, work));
        worker.ack(failed);
    }
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(long_header(parked, "retryd-attempt") == 3);
    CHECK(text_header(parked, "retryd-exception").find("no stock") != std::string::npos);
    CHECK(parked.body == original.body);
    s.stop();
}

}  // namespace

TEST_CASE("sources: anybody's own error queue, with the work queue in a header", "[one-version]") {
    check_retried_and_parked("generic", ".failures",
                             ", work_queue: {header: my-origin}, reason: {header: my-exception}", as_somebody);
}

TEST_CASE("sources: MassTransit puts it away with its headers", "[one-version]") {
    check_retried_and_parked("masstransit", "_error", "", as_masstransit);
}

TEST_CASE("sources: Spring republishes it with its exception", "[one-version]") {
    check_retried_and_parked("spring", ".dlq", "", as_spring);
}

TEST_CASE("sources: Rebus makes text of every header", "[one-version]") {
    check_retried_and_parked("rebus", ".error", "", as_rebus);
}

TEST_CASE("sources: NServiceBus makes text of every header, and knows nothing of rungs", "[one-version]") {
    check_retried_and_parked("nservicebus", ".error", "", as_nservicebus);
}

TEST_CASE("sources: Symfony's failure transport gets it with stamps", "[one-version]") {
    check_retried_and_parked("symfony", ".failed", "", as_symfony);
}

TEST_CASE("sources: EasyNetQ puts it into a document", "[one-version]") {
    check_retried_and_parked("easynetq", ".EasyNetQ_Default_Error_Queue", "", as_easynetq);
}

TEST_CASE("sources: what cannot be read is parked as it is, and the next one goes on", "[one-version]") {
    ParkedScene s;
    const std::string work = s.plain_queue("framework");
    const std::string source = s.plain_queue("unreadable");
    s.retry(work, {"100ms"});
    s.config.sources = "[{queue: \"" + source + "\", dialect: easynetq}]";
    s.start();
    s.client.publish("", source, {.body = "no document", .headers = {{"mine", longstr("a")}}});
    Received failed;
    static_cast<Message&>(failed) = original;
    s.client.publish("", source, as_easynetq(failed, work));
    const Received unread = s.take(s.config.catch_all);
    CHECK(unread.body == "no document");
    CHECK(text_header(unread, "mine") == "a");
    CHECK(text_header(unread, "retryd-parked-reason") == "no-death");
    check_is_original(s.take(work));
    s.stop();
}

TEST_CASE("sources: one that is missing keeps nobody up, and is consumed once it is there", "[one-version]") {
    ParkedScene s;
    const std::string source = s.queue_name("later");
    s.config.sources = "[{queue: \"" + source + "\", dialect: masstransit}]";
    s.start();
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    s.client.declare_queue(source, {});
    Received failed;
    static_cast<Message&>(failed) = original;
    s.client.publish("", source, as_masstransit(failed, s.work));
    check_is_original(worker.receive(milliseconds(150'000)));  // it is tried again every minute
    s.stop();
}

namespace {

/// Messages of somebody's own error queue, with their numbers as bodies.
void put_away(Client& client, const std::string& source, const std::string& work, int messages) {
    for (int i = 0; i < messages; ++i)
        client.send("", source, {.body = std::to_string(i), .headers = {{"my-origin", longstr(work)}}});
    client.await_confirms();
}

std::string generic(const std::string& source) {
    return "[{queue: \"" + source + "\", dialect: generic, work_queue: {header: my-origin}}]";
}

}  // namespace

TEST_CASE("sources: a flood in one holds up no message that is rejected", "[one-version]") {
    constexpr int many = 5'000;
    const Machine machine;
    ParkedScene s;
    const std::string flooded = s.plain_queue("flooded");
    const std::string source = s.plain_queue("failures");
    s.retry(flooded, {"100ms"});
    s.config.sources = generic(source);
    put_away(s.client, source, flooded, many);
    s.start();
    Worker worker(s.work);
    Lateness lateness;
    for (int i = 0; i < 5; ++i) {
        s.client.publish("", s.work, {.body = "x"});
        const Received failed = worker.receive();
        const Clock::time_point rejected = Clock::now();
        worker.reject(failed);
        const Received again = worker.receive();
        lateness.add(since(rejected), milliseconds(100));
        worker.ack(again);
    }
    CHECK(lateness.least() < milliseconds(1'000) + machine.slack());
    CHECK(s.await_depth(flooded, many, seconds(150)));  // on a busy machine some take a detour of 30 s, and another
    CHECK(s.await_depth(source, 0));
    s.stop();
}

TEST_CASE("sources: a daemon that is killed in the middle loses nothing", "[one-version]") {
    constexpr int many = 2'000;
    ParkedScene s;
    const std::string work = s.plain_queue("framework");
    const std::string source = s.plain_queue("failures");
    s.retry(work, {"100ms"});
    s.config.sources = generic(source);
    s.start();
    for (int i = 0; i < many; ++i)
        s.client.send("", source, {.body = std::to_string(i), .headers = {{"my-origin", longstr(work)}}});
    REQUIRE(await([&] { return s.depth(work) > 0; }));
    s.daemon.kill();
    s.client.await_confirms();
    s.start();
    std::set<std::string> arrived;
    Worker worker(work);
    while (arrived.size() < many) {
        const Received message = worker.receive();
        arrived.insert(message.body);
        worker.ack(message);
    }
    CHECK(s.await_depth(source, 0));
    s.stop();
}

TEST_CASE("sources: a glob finds the queues that are there, and later those that come", "[slow][one-version]") {
    ParkedScene s;
    const std::string work = s.plain_queue("framework");
    const std::string first = s.plain_queue("first_error");
    s.retry(work, {"100ms"});
    s.config.management_url = management_url();
    s.config.sources = "[{queue: \"" + s.queue_name("*_error") + "\", dialect: masstransit}]";
    const std::string exclusive = s.queue_name("exclusive_error");
    s.client.declare_exclusive_queue(exclusive);
    s.client.publish("", exclusive, {.body = "stays"});
    s.start();
    Received failed;
    static_cast<Message&>(failed) = original;
    Worker worker(work);
    s.client.publish("", first, as_masstransit(failed, work));
    const Received came = worker.receive(milliseconds(150'000));  // a first look that fails is repeated after a minute
    check_is_original(came);
    worker.ack(came);
    const std::string second = s.plain_queue("second_error");
    s.client.publish("", second, as_masstransit(failed, work));
    check_is_original(worker.receive(milliseconds(150'000)));  // it is looked for every minute
    CHECK(s.depth(exclusive) == 1);
    CHECK(s.daemon.lines_with({exclusive}) == 0);
    s.stop();
}
