// Messages as frameworks put them into their error queues. The texts are made after the sources that are named in
// core/dialects.cpp, core/dialect_easynetq.cpp and core/dialect_symfony.cpp.
#include "core/failure.h"

#include <string>

#include "core/compose.h"
#include "core/compose_scene.h"
#include "core/headers.h"
#include "core/names.h"
#include "support/catch.h"

namespace retryd::core::failure_test {
namespace {

using namespace test;

constexpr WallTime now{std::chrono::seconds{1'800'000'000}};

/// A message in a source.
struct Scene {
    Headers headers;
    Delivery delivery;
    Source source;
    std::string queue = "orders_error";
    FailureScratch scratch;

    Scene(Dialect dialect, std::string_view from) : queue(from) { source = {queue, dialect}; }

    void arrives_with(std::vector<Field> fields) {
        delivery.message.properties.headers = headers.fields(std::move(fields));
    }

    std::optional<Failure> read() { return read_failure(delivery, source, queue, now, scratch); }

    /// As the relay reads it.
    Delivery dead_lettered() { return as_dead_lettered(delivery, source, queue, now, scratch); }
    std::optional<Death> death() {
        return read_death(dead_lettered().message.properties.header_table(), "retryd.errors");
    }
    RetryHistory history() {
        const Delivery read = dead_lettered();
        const Table table = read.message.properties.header_table();
        return read_retry_history(table, read_death(table, "retryd.errors").value().queue, proof_keys);
    }
};

std::vector<Field> ours_as_text(std::string_view first_death) {
    return {{"retryd-queue", text("orders")},    {"retryd-attempt", text("3")},
            {"retryd-reason", text("rejected")}, {"retryd-first-death", text(first_death)},
            {"retryd-exchange", text("shop")},   {"retryd-routing-key", text("order.paid")}};
}

/// The same headers with the proof of those that retryd wrote: with numbers where numbers belong.
std::vector<Field> proven_as_text(Headers& headers, std::string_view first_death) {
    auto numbers = ours_as_text(first_death);
    numbers[1].value = number(3);
    numbers[3].value = seconds(1'763'875'261);
    const Table proven = headers.proven(numbers);
    auto texts = ours_as_text(first_death);
    texts.push_back(*(proven.end() - 1));
    return texts;
}

}  // namespace

// MassTransit 8.5.8.

TEST_CASE("MassTransit: the queue is in the input address, its headers go") {
    Scene scene{Dialect::masstransit, "orders_error"};
    scene.delivery.routing_key = "order.paid";
    scene.delivery.message.body = R"({"messageId":"…","message":{"id":1}})";
    scene.delivery.message.properties.content_type = "application/vnd.masstransit+json";
    scene.arrives_with({{"Content-Type", text("application/vnd.masstransit+json")},
                        {"publishId", text("1")},
                        {"MT-Activity-Id", text("00-1-2-01")},
                        {"MT-Redelivery-Count", number(1)},
                        {"MT-Host-MachineName", text("web1")},
                        {"MT-Host-ProcessName", text("Orders")},
                        {"MT-Host-ProcessId", text("77")},
                        {"MT-Host-Assembly", text("Orders")},
                        {"MT-Host-AssemblyVersion", text("1.0.0.0")},
                        {"MT-Host-MassTransitVersion", text("8.5.8.0")},
                        {"MT-Host-FrameworkVersion", text("9.0.0")},
                        {"MT-Host-OperatingSystemVersion", text("Unix 6.1")},
                        {"MT-Reason", text("fault")},
                        {"MT-Fault-ExceptionType", text("System.InvalidOperationException")},
                        {"MT-Fault-InputAddress", text("rabbitmq://localhost/shop/orders?temporary=true")},
                        {"MT-Fault-Message", text("no stock")},
                        {"MT-Fault-Timestamp", text("2026-11-23T05:21:01.1234567Z")},
                        {"MT-Fault-StackTrace", text("   at Orders.Consume()")},
                        {"MT-Fault-ConsumerType", text("Orders.Consumer")},
                        {"MT-Fault-MessageType", text("Orders.Paid")},
                        {"MT-Fault-RetryCount", number(4)}});
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
    CHECK(failure->death.reason == "rejected");
    CHECK(failure->death.count == 1);
    CHECK(failure->death.time == 1'795'411'261);
    CHECK(failure->death.routing_key == "order.paid");
    CHECK(failure->exception == "System.InvalidOperationException: no stock\n   at Orders.Consume()");
    CHECK(names_of_headers(failure->message) == "Content-Type publishId MT-Activity-Id MT-Redelivery-Count");
    CHECK(failure->message.body == scene.delivery.message.body);
    CHECK(failure->message.body.data() == scene.delivery.message.body.data());
    CHECK(failure->message.properties.content_type == "application/vnd.masstransit+json");
}

TEST_CASE("MassTransit: each form of an address, and the queue's own name where there is none") {
    const auto queue_of = [](std::string_view address, std::string_view source = "error") {
        Scene scene{Dialect::masstransit, source};
        scene.arrives_with({{"MT-Fault-InputAddress", text(address)}});
        const auto failure = scene.read();
        return failure ? std::string{failure->death.queue} : "(none)";
    };
    CHECK(queue_of("rabbitmq://localhost/orders") == "orders");
    CHECK(queue_of("rabbitmqs://a.example:5671/shop/orders") == "orders");
    CHECK(queue_of("rabbitmq://localhost/a%2Fb/orders?durable=false&autodelete=true") == "orders");
    CHECK(queue_of("queue:orders") == "orders");
    CHECK(queue_of("exchange:orders?type=direct") == "orders");
    CHECK(queue_of("", "orders_error") == "orders");
    CHECK(queue_of("", "orders_skipped") == "orders");
    for (const char* wrong :
         {"", "orders", "rabbitmq://", "rabbitmq://localhost", "rabbitmq://localhost/", "queue:", "?"})
        CHECK(queue_of(wrong) == "(none)");
    CHECK(queue_of("queue:error") == "(none)");  // it would come back at once
}

// NServiceBus 10.2.0 with NServiceBus.RabbitMQ 11.2.0.

TEST_CASE("NServiceBus: headers of ours come back as text, and are what they were") {
    Scene scene{Dialect::nservicebus, "error"};
    auto fields = proven_as_text(scene.headers, "2025-11-23 05:21:01:000000 Z");
    fields.push_back({"NServiceBus.MessageId", text("1")});
    fields.push_back({"NServiceBus.EnclosedMessageTypes", text("Orders.Paid")});
    fields.push_back({"NServiceBus.Retries.Timestamp", text("2026-11-23 05:20:01:123456 Z")});
    fields.push_back({"NServiceBus.FailedQ", text("orders")});
    fields.push_back({"NServiceBus.ExceptionInfo.ExceptionType", text("System.Exception")});
    fields.push_back({"NServiceBus.ExceptionInfo.Message", text("no stock")});
    fields.push_back({"NServiceBus.ExceptionInfo.StackTrace", text("System.Exception: no stock\n   at Orders")});
    fields.push_back({"NServiceBus.ExceptionInfo.Data.Handler canceled", text("False")});
    fields.push_back({"NServiceBus.TimeOfFailure", text("2026-11-23 05:21:01:123456 Z")});
    fields.push_back({"$.diagnostics.hostid", text("1")});
    scene.arrives_with(fields);
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
    CHECK(failure->death.time == 1'795'411'261);
    CHECK(failure->exception == "System.Exception: no stock\n   at Orders");
    CHECK(header_of(failure->message, "retryd-attempt") == "l:3");
    CHECK(header_of(failure->message, "retryd-first-death") == "T:1763875261");
    CHECK(header_of(failure->message, "NServiceBus.MessageId") == "S:1");
    for (const char* gone : {"NServiceBus.FailedQ", "NServiceBus.TimeOfFailure", "NServiceBus.ExceptionInfo.Message",
                             "NServiceBus.ExceptionInfo.Data.Handler canceled", "NServiceBus.Retries.Timestamp"})
        CHECK(header_of(failure->message, gone) == "(absent)");
    const RetryHistory history = scene.history();
    CHECK(history.proven);
    CHECK(history.attempt == 3);
    CHECK(history.routing_key == "order.paid");
}

// Rebus 8.9.2 with Rebus.RabbitMq 10.1.0.

TEST_CASE("Rebus: what it counted goes, or it would give up at once") {
    Scene scene{Dialect::rebus, "error"};
    auto fields = proven_as_text(scene.headers, "((time_t)1763875261)");
    fields.push_back({"rbs2-msg-id", text("1")});
    fields.push_back({"rbs2-delivery-count", text("6")});
    fields.push_back({"rbs2-source-queue", text("orders")});
    fields.push_back({"rbs2-error-details", text("5 unhandled exceptions: System.Exception: no stock")});
    scene.arrives_with(fields);
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
    CHECK(failure->exception == "5 unhandled exceptions: System.Exception: no stock");
    CHECK(failure->death.time == 1'800'000'000);  // it does not say when
    CHECK(header_of(failure->message, "rbs2-msg-id") == "S:1");
    for (const char* gone : {"rbs2-delivery-count", "rbs2-source-queue", "rbs2-error-details"})
        CHECK(header_of(failure->message, gone) == "(absent)");
    CHECK(scene.history().proven);
}

TEST_CASE("where a framework has spoiled the proof, attempts and age still count, and nothing else") {
    Scene scene{Dialect::rebus, "error"};
    auto fields = ours_as_text("((time_t)1763875261)");
    fields.push_back({"retryd-cc", text("System.Collections.Generic.List`1[System.Object]")});
    fields.push_back({"rbs2-source-queue", text("orders")});
    scene.arrives_with(fields);
    const RetryHistory history = scene.history();
    CHECK_FALSE(history.proven);
    CHECK(history.attempt == 3);
    CHECK(history.first_death == 1'763'875'261);
    CHECK_FALSE(history.exchange);
    CHECK(history.cc == nullptr);
}

// EasyNetQ 8.1.5.

TEST_CASE("EasyNetQ: body, properties and headers come out of the document, with their types") {
    Scene scene{Dialect::easynetq, "EasyNetQ_Default_Error_Queue"};
    scene.delivery.message.properties.type = "EasyNetQ.SystemMessages.Error, EasyNetQ";
    const std::string document =
        R"({"RoutingKey":"order.paid","Exchange":"shop","Queue":"orders",)"
        R"("Exception":"System.Exception: no stock\r\n   at Orders","Message":"{\u0022id\u0022:1,\u0022name\u0022:\u0022Zo\u00EB\u0022}",)"
        R"("DateTime":"2026-11-23T05:21:01.1234567Z","BasicProperties":{"ContentType":"application/json",)"
        R"("DeliveryMode":2,"Priority":5,"CorrelationId":"c-1","Expiration":"00:01:30.5000000","MessageId":"m-1",)"
        R"("Timestamp":1700000000,"Type":"Orders.Paid, Orders","AppId":"shop","Headers":{)"
        R"("text":{"Type":14,"Value":"aGVsbG8\u002B"},"flag":{"Type":2,"Value":true},"int":{"Type":6,"Value":-7},)"
        R"("long":{"Type":8,"Value":9007199254740993},"double":{"Type":10,"Value":1.5},"none":{"Type":1,"Value":null},)"
        R"("time":{"Type":12,"Value":1700000000},"list":{"Type":15,"Value":[{"Type":14,"Value":"YQ=="},{"Type":8,"Value":1}]},)"
        R"("table":{"Type":16,"Value":{"k":{"Type":14,"Value":"dg=="}}}}}})";
    scene.delivery.message.body = document;
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
    CHECK(failure->death.exchange == "shop");
    CHECK(failure->death.routing_key == "order.paid");
    CHECK(failure->death.time == 1'795'411'261);
    CHECK(failure->exception == "System.Exception: no stock\r\n   at Orders");
    CHECK(failure->message.body == "{\"id\":1,\"name\":\"Zo\u00eb\"}");
    const Properties& properties = failure->message.properties;
    CHECK(properties.content_type == "application/json");
    CHECK(properties.delivery_mode == 2);
    CHECK(properties.priority == 5);
    CHECK(properties.correlation_id == "c-1");
    CHECK(properties.expiration == "90500");
    CHECK(properties.message_id == "m-1");
    CHECK(properties.timestamp == 1'700'000'000);
    CHECK(properties.type == "Orders.Paid, Orders");
    CHECK(properties.app_id == "shop");
    CHECK_FALSE(properties.reply_to);
    CHECK(headers_of(failure->message) ==
          "{text=S:hello>, flag=t:true, int=I:-7, long=l:9007199254740993, double=d:1.500000, none=V:, "
          "time=T:1700000000, list=A:[S:a, l:1], table=F:{k=S:v}}");
}

TEST_CASE("EasyNetQ: with Newtonsoft's serializer, and with the plain one") {
    const auto read = [](const std::string& headers) {
        Scene scene{Dialect::easynetq, "EasyNetQ_Default_Error_Queue"};
        const std::string document =
            R"({"RoutingKey":"k","Exchange":"","Queue":"orders","Exception":"e","Message":"m","DateTime":)"
            R"("2026-11-23T05:21:01Z","BasicProperties":{"ContentType":null,"ContentEncoding":null,"Headers":)" +
            headers +
            R"(,"DeliveryMode":2,"Priority":0,"Expiration":null,"Timestamp":0,"Type":"T","ContentTypePresent":false}})";
        scene.delivery.message.body = document;
        const auto failure = scene.read();
        if (!failure) return std::string{"(unreadable)"};
        CHECK_FALSE(failure->message.properties.content_type);
        CHECK_FALSE(failure->message.properties.priority);
        CHECK_FALSE(failure->message.properties.timestamp);
        return failure->message.properties.headers ? headers_of(failure->message) : "(no headers)";
    };
    CHECK(
        read(
            R"({"text":{"$type":"System.Byte[], System.Private.CoreLib","$value":"aGVsbG8="},"long":7,)"
            R"("time":{"$type":"RabbitMQ.Client.AmqpTimestamp, RabbitMQ.Client","UnixTime":1700000000},)"
            R"("list":{"$type":"System.Collections.Generic.List`1","$values":[1,{"$type":"System.Byte[]","$value":"YQ=="}]},)"
            R"("table":{"$type":"System.Collections.Generic.Dictionary`2","k":true}})") ==
        "{text=S:hello, long=l:7, time=T:1700000000, list=A:[l:1, S:a], table=F:{k=t:true}}");
    CHECK(read(R"({"text":"aGVsbG8=","long":7,"time":{"UnixTime":1700000000},"list":["YQ=="],"none":null})") ==
          "{text=S:hello, long=l:7, time=T:1700000000, list=A:[S:a], none=V:}");
    CHECK(read("null") == "(no headers)");
    CHECK(read("{}") == "{}");
    CHECK(read(R"({"text":{"Type":14,"Value":"no base64!"}})") == "(unreadable)");
    CHECK(read(R"({"text":{"Type":99,"Value":"x"}})") == "(unreadable)");
    CHECK(read(R"({"a":)" + std::string(1'000, '[') + std::string(1'000, ']') + "}") == "(unreadable)");
}

TEST_CASE("EasyNetQ: a document that is none, or is cut, is not read") {
    const std::string whole =
        R"({"Queue":"orders","Message":"m","BasicProperties":{"Headers":{"a":{"Type":14,"Value":"YQ=="}}}})";
    const auto readable = [](const std::string& document) {
        Scene scene{Dialect::easynetq, "EasyNetQ_Default_Error_Queue"};
        scene.delivery.message.body = document;
        return scene.read().has_value();
    };
    CHECK(readable(whole));
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK_FALSE(readable(whole.substr(0, length)));
    CHECK_FALSE(readable(R"({"Queue":"orders","BasicProperties":{}})"));
    CHECK_FALSE(readable(R"({"Queue":"orders","Message":"m"})"));
    CHECK_FALSE(readable(R"({"Message":"m","BasicProperties":{}})"));
    CHECK_FALSE(readable(R"({"Queue":"orders","Message":1,"BasicProperties":{}})"));
}

// Spring AMQP 4.2.0-M1, Spring Cloud Stream 5.0.3.

TEST_CASE("Spring: republished with its exception") {
    Scene scene{Dialect::spring, "orders.group.dlq"};
    scene.arrives_with({{"x-exception-message", text("no stock")},
                        {"x-exception-stacktrace", text("java.lang.RuntimeException: no stock")},
                        {"x-original-exchange", text("orders")},
                        {"x-original-routingKey", text("order.paid")},
                        {"retry-count", number(1)},
                        {"__TypeId__", text("Paid")}});
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders.group");
    CHECK(failure->death.exchange == "orders");
    CHECK(failure->death.routing_key == "order.paid");
    CHECK(failure->exception == "no stock\njava.lang.RuntimeException: no stock");
    CHECK(names_of_headers(failure->message) == "retry-count __TypeId__");
}

TEST_CASE("Spring: the queue where it can be known, else it is not guessed at") {
    const auto queue_of = [](std::string_view source, std::string_view exchange, WorkQueueOf configured = {}) {
        Scene scene{Dialect::spring, source};
        scene.source.work_queue = std::move(configured);
        scene.arrives_with({{"x-original-exchange", text(exchange)}, {"x-original-routingKey", text("orders")}});
        const auto failure = scene.read();
        return failure ? std::string{failure->death.queue} : "(none)";
    };
    CHECK(queue_of("errors", "") == "orders");
    CHECK(queue_of("errors", "shop") == "(none)");
    CHECK(queue_of("errors", "shop", {WorkQueueOf::Place::name, "work"}) == "work");
    CHECK(queue_of("work-errors", "shop", {WorkQueueOf::Place::suffix, "-errors"}) == "work");
}

TEST_CASE("Spring, Celery and Dramatiq: as the broker has dead-lettered it") {
    for (const Dialect dialect : {Dialect::spring, Dialect::celery, Dialect::dramatiq, Dialect::generic}) {
        Scene scene{dialect, "orders.XQ"};
        scene.delivery.message.properties.headers = scene.headers.deaths({{.queue = "orders"}});
        const auto failure = scene.read();
        REQUIRE(failure);
        CHECK(failure->death.queue == "orders");
        CHECK(failure->death.exchange == "shop");
        CHECK(failure->death.time == 1'700'000'000);
    }
}

TEST_CASE("Dramatiq: a message that waited in a delay queue, and what its body says") {
    Scene scene{Dialect::dramatiq, "default.XQ"};
    scene.delivery.message.properties.headers = scene.headers.deaths({{.queue = "default.DQ"}});
    scene.delivery.message.body = R"({"queue_name":"default","actor_name":"pay","args":[1,{"options":2}],"kwargs":{},)"
                                  R"("options":{"retries":20,"traceback":"Traceback:\n  no stock"},"message_id":"1"})";
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "default");
    CHECK(failure->exception == "Traceback:\n  no stock");
    CHECK(failure->message.body.data() == scene.delivery.message.body.data());
}

// Symfony Messenger 7.1.

TEST_CASE("Symfony: with stamps in headers, those of the failure go") {
    const std::string stamp = "X-Message-Stamp-Symfony\\Component\\Messenger\\Stamp\\";
    const std::string sent = stamp + "SentToFailureTransportStamp", details = stamp + "ErrorDetailsStamp",
                      redelivery = stamp + "RedeliveryStamp", bus = stamp + "BusNameStamp";
    Scene scene{Dialect::symfony, "failed"};
    scene.delivery.routing_key = "orders";
    scene.delivery.message.body = R"({"id":1})";
    scene.arrives_with(
        {{"type", text("App\\Paid")},
         {bus, text(R"([{"busName":"messenger.bus.default"}])")},
         {sent, text(R"([{"originalReceiverName":"async"}])")},
         {details, text(R"([{"exceptionClass":"Old","exceptionMessage":"old"},)"
                        R"({"exceptionClass":"App\\NoStock","exceptionCode":0,"exceptionMessage":"no stock",)"
                        R"("flattenException":{"message":"x"}}])")},
         {redelivery, text(R"([{"retryCount":0}])")}});
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
    CHECK(failure->exception == "App\\NoStock: no stock");
    CHECK(names_of_headers(failure->message) == "type " + bus);
    CHECK(failure->message.body.data() == scene.delivery.message.body.data());
}

TEST_CASE("Symfony: serialized by PHP, the stamp that would lose it is hidden") {
    const std::string body =
        R"(O:36:\"Symfony\\Component\\Messenger\\Envelope\":2:{s:44:\"\0Symfony\\Component\\Messenger\\Envelope\0stamps\";)"
        R"(a:2:{s:51:\"Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp\";a:1:{i:0;)"
        R"(O:51:\"Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp\":1:{)"
        R"(s:69:\"\0Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp\0exceptionMessage\";s:13:\"it\'s \"no\" x\\y\";}})"
        R"(s:61:\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp\";a:1:{i:0;)"
        R"(O:61:\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp\":1:{}}}})";
    Scene scene{Dialect::symfony, "failed"};
    scene.delivery.routing_key = "orders";
    scene.delivery.message.body = body;
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
    CHECK(failure->exception == R"(it's "no" x\y)");
    std::string expected = body;
    expected.replace(expected.find("SentToFailureTransportStamp\\\";a:"), 27, "SentToFailureTransportStamX");
    CHECK(failure->message.body == expected);
    CHECK(failure->message.body.size() == body.size());
}

// Recorded from symfony/messenger 5.4.53 (Debian 12): PhpSerializer's encode() of an envelope as the listener of the
// failure transport sends it. The same program has decoded what is made of it here: the message and the other stamps
// were there, that of the failure transport was not, and it was sent to the failure transport again.
TEST_CASE("Symfony: as the library itself writes it, as text and as base64") {
    const std::string body =
        R"~(O:36:\"Symfony\\Component\\Messenger\\Envelope\":2:{s:44:\"\0Symfony\\Component\\Messenger\\Enve)~"
        R"~(lope\0stamps\";a:5:{s:46:\"Symfony\\Component\\Messenger\\Stamp\\BusNameStamp\";a:1:{i:0;O:46:\")~"
        R"~(Symfony\\Component\\Messenger\\Stamp\\BusNameStamp\":1:{s:55:\"\0Symfony\\Component\\Messenger\\)~"
        R"~(Stamp\\BusNameStamp\0busName\";s:21:\"messenger.bus.default\";}}s:51:\"Symfony\\Component\\Messe)~"
        R"~(nger\\Stamp\\ErrorDetailsStamp\";a:1:{i:0;O:51:\"Symfony\\Component\\Messenger\\Stamp\\ErrorDeta)~"
        R"~(ilsStamp\":4:{s:67:\"\0Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp\0exceptionClass\")~"
        R"~(;s:16:\"RuntimeException\";s:66:\"\0Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp\0exc)~"
        R"~(eptionCode\";i:0;s:69:\"\0Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp\0exceptionMess)~"
        R"~(age\";s:13:\"it\'s \"no\" x\\y\";s:69:\"\0Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStam)~"
        R"~(p\0flattenException\";N;}}s:61:\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportSta)~"
        R"~(mp\";a:1:{i:0;O:61:\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp\":1:{s:83)~"
        R"~(:\"\0Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp\0originalReceiverName\";s)~"
        R"~(:5:\"async\";}}s:44:\"Symfony\\Component\\Messenger\\Stamp\\DelayStamp\";a:1:{i:0;O:44:\"Symfony)~"
        R"~(\\Component\\Messenger\\Stamp\\DelayStamp\":1:{s:51:\"\0Symfony\\Component\\Messenger\\Stamp\\De)~"
        R"~(layStamp\0delay\";i:0;}}s:49:\"Symfony\\Component\\Messenger\\Stamp\\RedeliveryStamp\";a:1:{i:0;)~"
        R"~(O:49:\"Symfony\\Component\\Messenger\\Stamp\\RedeliveryStamp\":4:{s:61:\"\0Symfony\\Component\\M)~"
        R"~(essenger\\Stamp\\RedeliveryStamp\0retryCount\";i:0;s:64:\"\0Symfony\\Component\\Messenger\\Stamp)~"
        R"~(\\RedeliveryStamp\0redeliveredAt\";O:17:\"DateTimeImmutable\":3:{s:4:\"date\";s:26:\"2026-11-23 )~"
        R"~(05:59:18.006601\";s:13:\"timezone_type\";i:3;s:8:\"timezone\";s:3:\"UTC\";}s:67:\"\0Symfony\\Com)~"
        R"~(ponent\\Messenger\\Stamp\\RedeliveryStamp\0exceptionMessage\";N;s:67:\"\0Symfony\\Component\\Mes)~"
        R"~(senger\\Stamp\\RedeliveryStamp\0flattenException\";N;}}}s:45:\"\0Symfony\\Component\\Messenger\\)~"
        R"~(Envelope\0message\";O:8:\"App\\Paid\":2:{s:2:\"id\";i:7;s:4:\"note\";s:11:\"it\'s \"Zoë\"\";}})~";
    const std::string binary =
        R"~(TzozNjpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxFbnZlbG9wZVwiOjI6e3M6NDQ6XCJcMFN5bWZvbnlcXENv)~"
        R"~(bXBvbmVudFxcTWVzc2VuZ2VyXFxFbnZlbG9wZVwwc3RhbXBzXCI7YTo1OntzOjQ2OlwiU3ltZm9ueVxcQ29tcG9uZW50XFxN)~"
        R"~(ZXNzZW5nZXJcXFN0YW1wXFxCdXNOYW1lU3RhbXBcIjthOjE6e2k6MDtPOjQ2OlwiU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNz)~"
        R"~(ZW5nZXJcXFN0YW1wXFxCdXNOYW1lU3RhbXBcIjoxOntzOjU1OlwiXDBTeW1mb255XFxDb21wb25lbnRcXE1lc3Nlbmdlclxc)~"
        R"~(U3RhbXBcXEJ1c05hbWVTdGFtcFwwYnVzTmFtZVwiO3M6MjE6XCJtZXNzZW5nZXIuYnVzLmRlZmF1bHRcIjt9fXM6NTE6XCJT)~"
        R"~(eW1mb255XFxDb21wb25lbnRcXE1lc3NlbmdlclxcU3RhbXBcXEVycm9yRGV0YWlsc1N0YW1wXCI7YToxOntpOjA7Tzo1MTpc)~"
        R"~(IlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxTdGFtcFxcRXJyb3JEZXRhaWxzU3RhbXBcIjo0OntzOjY3OlwiXDBT)~"
        R"~(eW1mb255XFxDb21wb25lbnRcXE1lc3NlbmdlclxcU3RhbXBcXEVycm9yRGV0YWlsc1N0YW1wXDBleGNlcHRpb25DbGFzc1wi)~"
        R"~(O3M6MTY6XCJSdW50aW1lRXhjZXB0aW9uXCI7czo2NjpcIlwwU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5nZXJcXFN0YW1w)~"
        R"~(XFxFcnJvckRldGFpbHNTdGFtcFwwZXhjZXB0aW9uQ29kZVwiO2k6MDtzOjY5OlwiXDBTeW1mb255XFxDb21wb25lbnRcXE1l)~"
        R"~(c3NlbmdlclxcU3RhbXBcXEVycm9yRGV0YWlsc1N0YW1wXDBleGNlcHRpb25NZXNzYWdlXCI7czoxMzpcIml0XCdzIFwibm9c)~"
        R"~(IiB4XFx5XCI7czo2OTpcIlwwU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5nZXJcXFN0YW1wXFxFcnJvckRldGFpbHNTdGFt)~"
        R"~(cFwwZmxhdHRlbkV4Y2VwdGlvblwiO047fX1zOjYxOlwiU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5nZXJcXFN0YW1wXFxT)~"
        R"~(ZW50VG9GYWlsdXJlVHJhbnNwb3J0U3RhbXBcIjthOjE6e2k6MDtPOjYxOlwiU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5n)~"
        R"~(ZXJcXFN0YW1wXFxTZW50VG9GYWlsdXJlVHJhbnNwb3J0U3RhbXBcIjoxOntzOjgzOlwiXDBTeW1mb255XFxDb21wb25lbnRc)~"
        R"~(XE1lc3NlbmdlclxcU3RhbXBcXFNlbnRUb0ZhaWx1cmVUcmFuc3BvcnRTdGFtcFwwb3JpZ2luYWxSZWNlaXZlck5hbWVcIjtz)~"
        R"~(OjU6XCJhc3luY1wiO319czo0NDpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxTdGFtcFxcRGVsYXlTdGFtcFwi)~"
        R"~(O2E6MTp7aTowO086NDQ6XCJTeW1mb255XFxDb21wb25lbnRcXE1lc3NlbmdlclxcU3RhbXBcXERlbGF5U3RhbXBcIjoxOntz)~"
        R"~(OjUxOlwiXDBTeW1mb255XFxDb21wb25lbnRcXE1lc3NlbmdlclxcU3RhbXBcXERlbGF5U3RhbXBcMGRlbGF5XCI7aTowO319)~"
        R"~(czo0OTpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxTdGFtcFxcUmVkZWxpdmVyeVN0YW1wXCI7YToxOntpOjA7)~"
        R"~(Tzo0OTpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxTdGFtcFxcUmVkZWxpdmVyeVN0YW1wXCI6NDp7czo2MTpc)~"
        R"~(IlwwU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5nZXJcXFN0YW1wXFxSZWRlbGl2ZXJ5U3RhbXBcMHJldHJ5Q291bnRcIjtp)~"
        R"~(OjA7czo2NDpcIlwwU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5nZXJcXFN0YW1wXFxSZWRlbGl2ZXJ5U3RhbXBcMHJlZGVs)~"
        R"~(aXZlcmVkQXRcIjtPOjE3OlwiRGF0ZVRpbWVJbW11dGFibGVcIjozOntzOjQ6XCJkYXRlXCI7czoyNjpcIjIwMjYtMTEtMjMg)~"
        R"~(MDU6NTk6MTguMDY0NDI2XCI7czoxMzpcInRpbWV6b25lX3R5cGVcIjtpOjM7czo4OlwidGltZXpvbmVcIjtzOjM6XCJVVENc)~"
        R"~(Ijt9czo2NzpcIlwwU3ltZm9ueVxcQ29tcG9uZW50XFxNZXNzZW5nZXJcXFN0YW1wXFxSZWRlbGl2ZXJ5U3RhbXBcMGV4Y2Vw)~"
        R"~(dGlvbk1lc3NhZ2VcIjtOO3M6Njc6XCJcMFN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxTdGFtcFxcUmVkZWxpdmVy)~"
        R"~(eVN0YW1wXDBmbGF0dGVuRXhjZXB0aW9uXCI7Tjt9fX1zOjQ1OlwiXDBTeW1mb255XFxDb21wb25lbnRcXE1lc3Nlbmdlclxc)~"
        R"~(RW52ZWxvcGVcMG1lc3NhZ2VcIjtPOjg6XCJBcHBcXFBhaWRcIjoyOntzOjI6XCJpZFwiO2k6NztzOjQ6XCJub3RlXCI7czoy)~"
        R"~(Olwi//5cIjt9fQ==)~";
    for (const std::string& written : {body, binary}) {
        Scene scene{Dialect::symfony, "failed"};
        scene.delivery.routing_key = "orders";
        scene.delivery.message.body = written;
        const auto failure = scene.read();
        REQUIRE(failure);
        CHECK(failure->death.queue == "orders");
        CHECK(failure->exception == R"(it's "no" x\y)");
        CHECK(failure->message.body.ends_with('}'));
        CHECK(failure->message.body.find(
                  R"(\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamX\";a:1:)") !=
              std::string_view::npos);
        CHECK(failure->message.body.find(R"(SentToFailureTransportStamp\";a:1:)") == std::string_view::npos);
    }
}

TEST_CASE("Symfony: what it has not sent there itself is as the broker says, or unknown") {
    Scene scene{Dialect::symfony, "failed"};
    scene.delivery.routing_key = "orders";
    scene.delivery.message.body = "{}";
    CHECK_FALSE(scene.read());
    scene.delivery.message.properties.headers = scene.headers.deaths({{.queue = "orders"}});
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->death.queue == "orders");
}

// generic.

TEST_CASE("generic: as the source's keys say") {
    const auto read = [](WorkQueueOf work_queue, std::vector<Field> fields) {
        Scene scene{Dialect::generic, "orders.failures"};
        scene.source.work_queue = std::move(work_queue);
        scene.source.reason_header = "x-exception";
        scene.arrives_with(std::move(fields));
        const auto failure = scene.read();
        return failure ? std::string{failure->death.queue} + ": " + std::string{failure->exception} : "(none)";
    };
    using Place = WorkQueueOf::Place;
    CHECK(read({Place::header, "x-origin"}, {{"x-origin", text("orders")}, {"x-exception", text("no stock")}}) ==
          "orders: no stock");
    CHECK(read({Place::suffix, ".failures"}, {}) == "orders: ");
    CHECK(read({Place::name, "orders"}, {}) == "orders: ");
    CHECK(read({Place::header, "x-origin"}, {}) == "(none)");
    CHECK(read({Place::header, "x-origin"}, {{"x-origin", number(1)}}) == "(none)");
    CHECK(read({Place::header, "x-origin"}, {{"x-origin", text("")}}) == "(none)");
    CHECK(read({Place::header, "x-origin"}, {{"x-origin", text(std::string(256, 'x'))}}) == "(none)");
    CHECK(read({Place::header, "x-origin"}, {{"x-origin", text("orders.failures")}}) == "(none)");
    CHECK(read({Place::suffix, ".other"}, {}) == "(none)");
    CHECK(read({}, {}) == "(none)");
}

// All of them.

TEST_CASE("a failure goes from rung to rung by what the message itself carries home and back") {
    const std::vector<Field> fault{{"MT-Fault-InputAddress", text("queue:orders")}, {"MT-Fault-Message", text("no")}};
    Scene scene{Dialect::masstransit, "orders_error"};
    scene.delivery.routing_key = "order.paid";
    scene.arrives_with(fault);
    const Delivery first = scene.dead_lettered();
    const auto death = scene.death();
    REQUIRE(death);
    CHECK(attempt_of(*death, scene.history()) == 1);
    const ComposeContext context{death, scene.history(), "retryd", &proof_keys};
    ComposeScratch composed_in;
    const Message home = compose_retry(first.message, context, Retry{1, std::chrono::seconds{5}}, composed_in);
    CHECK(
        names_of_headers(home) ==
        "retryd-queue retryd-attempt retryd-reason retryd-first-death retryd-exchange retryd-routing-key retryd-proof");
    std::vector<Field> again{home.properties.header_table().begin(), home.properties.header_table().end()};
    again.insert(again.end(), fault.begin(), fault.end());
    Scene second{Dialect::masstransit, "orders_error"};
    second.arrives_with(again);
    CHECK(second.history().proven);
    CHECK(attempt_of(second.death().value(), second.history()) == 2);
    const Message parked =
        compose_parked(second.dead_lettered().message, {second.death(), second.history(), "retryd", &proof_keys},
                       {ParkReason::attempts_exhausted, 2}, now, composed_in);
    CHECK(header_of(parked, "retryd-exception") == "S:no");
    CHECK(header_of(parked, "retryd-routing-key") == "S:order.paid");
    CHECK(header_of(parked, "MT-Fault-Message") == "(absent)");
}

TEST_CASE("a failure looks as what the broker dead-letters") {
    Scene scene{Dialect::generic, "errors"};
    scene.source.work_queue = {WorkQueueOf::Place::header, "x-origin"};
    scene.source.reason_header = "why";
    scene.delivery.routing_key = "k";
    scene.delivery.message.body = "body";
    scene.arrives_with(
        {{"x-origin", text("orders")},
         {"why", text("no stock")},
         {"x-death", scene.headers.array({scene.headers.death({.queue = "orders.retry.5s", .reason = "expired"})})}});
    const Delivery read = scene.dead_lettered();
    CHECK(headers_of(read.message) ==
          "{x-death=A:[F:{count=l:1, reason=S:rejected, queue=S:orders, time=T:1800000000, exchange=S:, "
          "routing-keys=A:[S:k]}, F:{count=l:1, reason=S:expired, queue=S:orders.retry.5s, time=T:1700000000, "
          "exchange=S:shop, routing-keys=A:[S:order.paid]}], x-origin=S:orders, why=S:no stock, "
          "retryd-exception=S:no stock}");
    CHECK(read.message.body == "body");
}

TEST_CASE("what cannot be read is as it was, and nothing is known of where it died") {
    Scene scene{Dialect::rebus, "error"};
    scene.delivery.message.body = "body";
    scene.arrives_with(
        {{"x-death", scene.headers.array({scene.headers.death({.queue = "orders"})})}, {"mine", text("a")}});
    CHECK_FALSE(scene.death());
    CHECK(headers_of(scene.dead_lettered().message) == "{mine=S:a}");
    CHECK(scene.dead_lettered().message.body == "body");
}

TEST_CASE("no queue of retryd's is taken for a work queue") {
    for (const char* queue : {"orders.retry.5s", "retryd.detour.2s", "retryd.shared.5s"}) {
        Scene scene{Dialect::rebus, "error"};
        scene.arrives_with({{"rbs2-source-queue", text(queue)}});
        CHECK_FALSE(scene.death());
    }
}

TEST_CASE("no dialect is upset by an empty message, or by headers of any kind") {
    for (const Dialect dialect :
         {Dialect::masstransit, Dialect::nservicebus, Dialect::rebus, Dialect::easynetq, Dialect::spring,
          Dialect::symfony, Dialect::celery, Dialect::dramatiq, Dialect::generic}) {
        Scene scene{dialect, "errors"};
        CHECK_FALSE(scene.read());
        for (const char* name : {"MT-Fault-InputAddress", "NServiceBus.FailedQ", "rbs2-source-queue", "x-death",
                                 "x-original-exchange", "x-original-routingKey", "retries"}) {
            for (const Value& value : scene.headers.one_of_each()) {
                scene.arrives_with({{name, value}});
                scene.read();
            }
        }
    }
}

TEST_CASE("an exception is cut between two characters, where it would not fit with the other headers") {
    std::string long_text;
    while (long_text.size() < 2 * longest_exception)
        long_text += "\u00e9";
    Scene scene{Dialect::generic, "errors"};
    scene.source.work_queue = {WorkQueueOf::Place::name, "orders"};
    scene.source.reason_header = "why";
    scene.arrives_with({{"why", text(long_text)}});
    const auto failure = scene.read();
    REQUIRE(failure);
    CHECK(failure->exception.size() == longest_exception);
}

}  // namespace retryd::core::failure_test
