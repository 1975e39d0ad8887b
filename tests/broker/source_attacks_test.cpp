// What a stranger can do who may publish to a source, and nowhere else: name any queue as the one that his message
// failed in, and write any header. No message goes to a queue that no entry matches, none is lost, and none runs round
// and round.
#include <string>

#include "support/catch.h"
#include "support/forged.h"
#include "support/parked_scene.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A victim's queue, which no entry matches; an entry's; and a source for each dialect that reads a header.
struct SourceAttack : ParkedScene {
    std::string victim = plain_queue("victim");
    std::string framework = plain_queue("framework");

    SourceAttack() { retry(framework, {"100ms"}); }

    std::string source(const std::string& dialect, const std::string& keys = "") {
        const std::string queue = plain_queue("source-" + dialect);
        config.sources +=
            (config.sources.empty() ? "[{queue: \"" : ", {queue: \"") + queue + "\", dialect: " + dialect + keys + "}";
        return queue;
    }
    void begin() {
        config.sources += "]";
        start();
    }

    void check_parked(const std::string& reason) {
        const Received parked = take(config.catch_all);
        CAPTURE(parked.body);
        CHECK(text_header(parked, "retryd-parked-reason") == reason);
    }
};

struct SourceClaim {
    std::string source;
    std::string header;
    std::string before = {};  // of the queue's name
};

}  // namespace

TEST_CASE("a source: nothing goes to a queue that no entry matches, or to one of retryd's, whatever is claimed",
          "[one-version]") {
    SourceAttack s;
    const std::vector<SourceClaim> claims{
        {s.source("masstransit"), "MT-Fault-InputAddress", "rabbitmq://host/vhost/"},
        {s.source("nservicebus"), "NServiceBus.FailedQ"},
        {s.source("rebus"), "rbs2-source-queue"},
        {s.source("spring"), "x-original-routingKey"},
        {s.source("generic", ", work_queue: {header: x-origin}"), "x-origin"},
    };
    s.begin();
    int sent = 0;
    const auto claim = [&](const std::string& queue) {
        for (const SourceClaim& each : claims) {
            Table headers = {{each.header, longstr(each.before + queue)}};
            if (each.header == "x-original-routingKey") headers.push_back({"x-original-exchange", longstr("")});
            s.client.send("", each.source, {.body = queue + " " + std::to_string(sent++), .headers = headers});
        }
        s.client.await_confirms();
    };
    for (const std::string& queue :
         {s.victim, s.config.error_queue, s.config.catch_all, Scenario::parking_of(s.framework),
          Scenario::rung(s.framework, "100ms"), std::string("retryd.detour.2s"), claims[0].source, claims[2].source,
          std::string("amq.rabbitmq.reply-to"), std::string(), std::string(300, 'x'), std::string("\xff\xfe\x00z", 4),
          s.victim + "\n"})
        claim(queue);
    REQUIRE(s.await_depth(s.config.catch_all, static_cast<std::uint32_t>(sent)));
    for (const std::string& queue : {s.victim, s.config.error_queue, Scenario::parking_of(s.framework),
                                     Scenario::rung(s.framework, "100ms"), s.framework})
        CHECK(s.depth(queue) == 0);
    for (const SourceClaim& each : claims)
        CHECK(s.depth(each.source) == 0);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a source: a claim of an exchange, a key or copies sends nothing anywhere else", "[one-version]") {
    SourceAttack s;
    const std::string source = s.source("nservicebus");
    s.begin();
    s.client.publish("", source,
                     {.body = "x",
                      .headers = {{"NServiceBus.FailedQ", longstr(s.framework)},
                                  {"CC", array({longstr(s.victim)})},
                                  {"BCC", array({longstr(s.victim)})},
                                  {"retryd-queue", longstr(s.victim)},
                                  {"retryd-exchange", longstr("")},
                                  {"retryd-routing-key", longstr(s.victim)},
                                  {"retryd-cc", array({longstr(s.victim)})},
                                  {"x-death", array({death_entry(s.victim)})}}});
    // RabbitMQ itself sends the copy of a CC, to whatever queue: one for both.
    s.take(s.victim);
    Worker worker(s.framework);
    const Received home = worker.receive();
    CHECK(long_header(home, "retryd-attempt") == 1);
    s.client.publish("", source,
                     {.body = home.body,
                      .headers = {{"NServiceBus.FailedQ", longstr(s.framework)},
                                  {"retryd-queue", longstr(s.framework)},
                                  {"retryd-attempt", int32(1'000)}}});
    worker.ack(home);
    // What he claims of attempts he claims of his own message.
    CHECK(text_header(s.take(Scenario::parking_of(s.framework)), "retryd-parked-reason") == "attempts-exhausted");
    CHECK(s.depth(s.victim) == 0);
    s.stop();
}

TEST_CASE("a source: a stack trace of 100 KB is cut, headers that fit no frame stay, and the next one goes on",
          "[one-version]") {
    SourceAttack s;
    const std::string source = s.source("masstransit");
    s.config.prefetch = 4;
    s.begin();
    const std::string trace(100'000, 'x');
    s.client.publish("", source,
                     {.body = "traced",
                      .headers = {{"MT-Fault-InputAddress", longstr("queue:" + s.framework)},
                                  {"MT-Fault-StackTrace", longstr(trace)}}});
    Worker worker(s.framework);
    const Received traced = worker.receive();
    CHECK(traced.body == "traced");
    CHECK(find(traced.headers, "MT-Fault-StackTrace") == nullptr);
    // Just less than a frame: with what retryd adds it is more. More of them than the prefetch of ten consumers.
    constexpr int stay = 50;
    const std::string most(130'900, 'x');
    for (int i = 0; i < stay; ++i)
        s.client.publish(
            "", source,
            {.body = "stays",
             .headers = {{"MT-Fault-InputAddress", longstr("queue:" + s.framework)}, {"mine", longstr(most)}}});
    s.client.publish("", source,
                     {.body = "goes", .headers = {{"MT-Fault-InputAddress", longstr("queue:" + s.framework)}}});
    CHECK(worker.receive().body == "goes");
    REQUIRE(s.daemon.await_log("stays there, unacked"));
    CHECK(s.daemon.lines_with({"warning", source, "do not fit an AMQP frame"}) == 1);
    s.stop();
    CHECK(s.await_depth(source, stay));
    CHECK(s.depth(s.config.catch_all) == 0);
}

TEST_CASE("a source: what cannot be read, or is not text, is parked", "[one-version]") {
    SourceAttack s;
    const std::string generic = s.source("generic", ", work_queue: {header: x-origin}, reason: {header: x-why}");
    const std::string easynetq = s.source("easynetq");
    const std::string symfony = s.source("symfony");
    s.begin();
    s.client.publish("", generic, {.body = "deep", .headers = {{"a", nested_tables(99)}}});
    s.check_parked("no-death");
    s.client.publish("", generic, {.headers = {{"x-origin", nested_arrays(20)}}});
    s.check_parked("no-death");
    s.client.publish("", easynetq, {.body = std::string(1'000'000, '{')});
    s.check_parked("no-death");
    s.client.publish("", easynetq,
                     {.body = R"({"Queue":")" + s.victim +
                              R"(","RoutingKey":"k","Exchange":"","Message":"m")"
                              R"(,"BasicProperties":{"Headers":{"a":{"Type":99,"Value":{}}}}})"});
    const Received document = s.take(s.config.catch_all);
    CHECK(s.depth(s.victim) == 0);
    s.client.publish("", symfony, {.body = "\xff\xfe{"});
    s.take(s.config.catch_all);
    s.client.publish(
        "", generic,
        {.body = "why", .headers = {{"x-origin", longstr(s.framework)}, {"x-why", longstr("\xff\xfe why")}}});
    Worker worker(s.framework);
    CHECK(worker.receive().body == "why");
    s.stop();
}

TEST_CASE("a source that is where the broker dead-letters what retryd parks makes no loop", "[one-version]") {
    SourceAttack s;
    // Somebody makes the parking queue dead-letter into the source: what expires there comes to retryd again.
    const std::string source = s.source("generic");
    s.config.entries.back().parked = s.queue_name("short");
    s.client.declare_queue(s.queue_name("short"), {{"x-queue-type", longstr("quorum")}});
    s.begin();
    s.client.publish("", source, {.body = "x", .headers = died_in(s.framework, {})});
    Worker worker(s.framework);
    CHECK(worker.receive().body == "x");
    s.client.publish("", source, {.body = "parked once", .headers = died_in(s.queue_name("short"), {})});
    s.check_parked("no-entry");
    s.stop();
}
