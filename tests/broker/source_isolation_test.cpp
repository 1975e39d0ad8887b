// A source pays for its own trouble: a message in it that RabbitMQ cannot hand over, a target that takes none of what
// comes from it. The error queue and the other sources go on.
#include <set>
#include <string>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/full_queue.h"
#include "support/hanging_queue.h"
#include "support/machine.h"
#include "support/management.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/steady_neighbour.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A work queue whose messages are rejected, another whose consumers put them into a source, and a second source.
struct OwnWindows : Scenario {
    std::string rejecting = work_queue("rejecting");
    std::string work = plain_queue("framework");
    std::string source = queue_name("failures");
    std::string other = plain_queue("other-failures");

    std::set<std::string> came;

    explicit OwnWindows(const Table& arguments, const std::string& delay = "200ms") {
        plain_queue("failures", arguments);
        retry(rejecting, {"200ms"});
        retry(work, {delay});
        config.sources = "[{queue: \"" + source + "\", dialect: generic, work_queue: {header: my-origin}}, {queue: \"" +
                         other + "\", dialect: generic, work_queue: {header: my-origin}}]";
    }

    void put_away(const std::string& queue, int first, int messages) {
        for (int i = first; i < first + messages; ++i)
            client.send("", queue, {.body = std::to_string(i), .headers = {{"my-origin", longstr(work)}}});
        client.await_confirms();
    }

    void undeliverable() {
        if (version_of(client) < Version{4, 0}) return amqp10::publish(source, {.message_id = amqp10::ulong(1)});
        amqp10::publish(source, {.application_properties = {{"a", amqp10::uuid()}}});
    }

    /// Each at least once. A source that has ended many connections is tried again every minute.
    void check_come(int messages) {
        Worker worker(work);
        while (came.size() < static_cast<std::size_t>(messages))
            take_one(worker, milliseconds(150'000));
    }

    /// What is behind a message that is stuck may come before it is.
    std::string take_one(Worker& worker, milliseconds within = patience) {
        const Received message = worker.receive(within);
        CHECK(long_header(message, "retryd-attempt") == 1);
        worker.ack(message);
        if (message.body != "1000") came.insert(message.body);
        return message.body;
    }

    void check_others_go_on() {
        const Machine machine;
        put_away(other, 1'000, 1);
        Worker worker(work);
        while (take_one(worker) != "1000") {
        }
        CHECK(daemon.lines_with({"disconnected"}) == 0);
        CHECK(daemon.lines_with({"connected to"}) == 1);
    }
};

Table quorum_source(const Table& more = {}) {
    Table arguments = {{"x-queue-type", longstr("quorum")}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

}  // namespace

TEST_CASE("a message of a source that RabbitMQ cannot hand over leaves by the source's delivery limit",
          "[slow][one-version]") {
    OwnWindows s(quorum_source({{"x-delivery-limit", int32(20)}}));
    const std::string grave = s.plain_queue("grave");
    set_policy("grave", "^" + s.source + "$",
               R"({"dead-letter-exchange": "", "dead-letter-routing-key": ")" + grave + R"("})");
    s.config.management_url = management_url();
    s.start();
    s.await_declared();  // else the neighbour's first message may take a detour
    SteadyNeighbour neighbour(broker_address(), s.rejecting, milliseconds(200));
    const Machine machine;
    const auto begin = Clock::now();
    s.put_away(s.source, 0, 30);
    s.undeliverable();
    s.put_away(s.source, 30, 30);
    s.check_come(60);
    CHECK(s.await_depth(s.source, 0));
    CHECK(s.daemon.await_log("RabbitMQ hands over the messages of the source"));
    s.check_others_go_on();
    const auto late = neighbour.between(begin, Clock::now());
    REQUIRE_FALSE(late.empty());
    CHECK(late.back() <= milliseconds(1'000) + machine.slack());
    CHECK(s.daemon.lines_with({"warning", s.source, "cannot hand over"}) == 1);
    CHECK(s.depth(s.config.catch_all) == 0);
    s.stop();
}

TEST_CASE("a message of a source that RabbitMQ cannot hand over, and no limit takes away, is told with what helps",
          "[slow][night][every-version]") {
    Table limits;
    OwnWindows probe({});
    if (version_of(probe.client) >= Version{4, 0}) limits = {{"x-delivery-limit", int32(1'000'000)}};
    OwnWindows s(quorum_source(limits));
    s.config.http = "127.0.0.1:0";
    s.config.management_url = management_url();
    s.start();
    s.await_declared();  // else the neighbour's first message may take a detour
    SteadyNeighbour neighbour(broker_address(), s.rejecting, milliseconds(200));
    const Machine machine;
    const auto begin = Clock::now();
    s.undeliverable();
    s.put_away(s.source, 0, 30);
    REQUIRE(s.daemon.await_log("no delivery limit takes it away"));
    const std::string definition =
        R"({"delivery-limit": 100, "dead-letter-exchange": "", "dead-letter-routing-key": ")" + s.config.catch_all +
        R"("})";
    CHECK(s.daemon.lines_with({"warning", s.source, "no delivery limit takes it away", "rabbitmqctl set_policy",
                               "'" + definition + "'"}) == 1);
    CHECK(await([&] {
        return Served(s.daemon).get("/status.json").body.find("no delivery limit takes it away") != std::string::npos;
    }));
    s.check_others_go_on();
    set_policy("delivery-limit-test", "^" + s.source + "$", definition);
    s.check_come(30);
    CHECK(s.await_depth(s.config.catch_all, 1));
    CHECK(s.await_depth(s.source, 0));
    CHECK(s.daemon.await_log("RabbitMQ hands over the messages of the source"));
    CHECK(await([&] {
        return Served(s.daemon).get("/status.json").body.find("no delivery limit takes it away") == std::string::npos;
    }));
    const auto late = neighbour.between(begin, Clock::now());
    REQUIRE_FALSE(late.empty());
    CHECK(late.back() <= milliseconds(1'000) + machine.slack());
    CHECK(s.daemon.lines_with({"disconnected"}) == 0);
    s.stop();
}

TEST_CASE("a quorum source that dead-letters nowhere keeps the message that RabbitMQ cannot hand over",
          "[slow][night][every-version]") {
    OwnWindows s(quorum_source({{"x-delivery-limit", int32(20)}}));
    const bool told_how = GENERATE(true, false);
    CAPTURE(told_how);
    const std::string grave = s.plain_queue("grave");
    if (told_how) s.config.management_url = management_url();
    s.start();
    s.undeliverable();
    s.put_away(s.source, 0, 30);
    REQUIRE(s.daemon.await_log("is not consumed any more"));
    s.check_others_go_on();
    // Longer than from one look to the next.
    const auto begin = Clock::now();
    CHECK(await([&] { return since(begin) > seconds(65); }, seconds(90)));
    s.reload();
    CHECK(await([&] { return s.daemon.lines_with({"is not consumed any more"}) == 2; }));
    CHECK(await([&] { return s.depth(s.source) >= 1; }));
    s.put_away(s.source, 30, 10);
    set_policy("grave", "^" + s.source + "$",
               R"({"dead-letter-exchange": "", "dead-letter-routing-key": ")" + grave + R"("})");
    if (!told_how) {
        s.config.management_url = management_url();
        s.reload();
    }
    CHECK(await([&] { return s.depth(grave) == 1; }, seconds(120)));
    s.check_come(40);
    CHECK(s.await_depth(s.source, 0));
    CHECK(s.depth(grave) == 1);
    CHECK(s.daemon.lines_with({"disconnected"}) == 0);
    s.stop();
}

TEST_CASE("five sources, one of which reconnects, do not hold up the end", "[one-version]") {
    OwnWindows s(quorum_source({{"x-delivery-limit", int32(20)}}));
    const std::string grave = s.plain_queue("grave");
    set_policy("grave", "^" + s.source + "$",
               R"({"dead-letter-exchange": "", "dead-letter-routing-key": ")" + grave + R"("})");
    s.config.management_url = management_url();
    s.config.sources.pop_back();
    for (int i = 0; i < 3; ++i)
        s.config.sources += ", {queue: \"" + s.plain_queue("more-" + std::to_string(i)) + "\", dialect: masstransit}";
    s.config.sources += "]";
    s.start();
    const Machine machine;
    for (int i = 0; i < 5; ++i)
        s.undeliverable();
    REQUIRE(s.daemon.await_log("cannot hand over a message"));
    const auto begin = Clock::now();
    s.stop();
    CHECK(since(begin) < seconds(5) + machine.slack());
}

TEST_CASE("a message of a classic source that RabbitMQ cannot hand over is dropped by the command that is told",
          "[slow][one-version]") {
    OwnWindows s({});
    const bool told_how = GENERATE(true, false);
    CAPTURE(told_how);
    if (told_how) s.config.management_url = management_url();
    s.start();
    s.undeliverable();
    s.put_away(s.source, 0, 30);
    const std::string command = "retryd parked drop --reason undeliverable --from " + s.source;
    REQUIRE(s.daemon.await_log(command));
    s.check_others_go_on();
    CHECK(await([&] {
        return run_retryd("parked drop --reason undeliverable --from " + s.source + " --yes -c " +
                          s.daemon.config_file())
                   .code == 0;
    }));
    if (!told_how) s.reload();
    s.check_come(30);
    CHECK(s.await_depth(s.source, 0));
    CHECK(s.depth(s.config.catch_all) == 0);
    s.stop();
}

TEST_CASE("a source whose rung takes no messages delays no message of the error queue", "[slow][night]") {
    constexpr int many = 3'000;
    OwnWindows s({}, "10m");
    const std::string rung = Scenario::rung(s.work, "10m");
    s.start();
    REQUIRE(await([&] { return s.exists(rung); }));
    SteadyNeighbour neighbour(broker_address(), s.rejecting, milliseconds(200));
    const Machine machine;
    const auto begin = Clock::now();
    {
        const FullQueue full(rung);
        s.put_away(s.source, 0, many);
        REQUIRE(s.await_depth(s.source, 0));
        CHECK(s.depth(rung) < 100);
    }
    const auto late = neighbour.between(begin, Clock::now());
    REQUIRE_FALSE(late.empty());
    CHECK(late.back() <= milliseconds(1'000) + machine.slack());
    std::set<std::string> bodies;
    CHECK(await(
        [&] {
            while (const auto message = s.client.get(rung)) {
                if (message->body != "filling") bodies.insert(message->body);
            }
            return bodies.size() == many;
        },
        seconds(150)));
    s.stop();
}

TEST_CASE("a source whose rung is silent, with bodies that fill its window, delays no message of the error queue",
          "[slow][one-version][night]") {
    constexpr int many = 400;
    OwnWindows s({});
    s.config.prefetch_bytes = "1MiB";
    s.start();
    const std::string rung = Scenario::rung(s.work, "200ms");
    REQUIRE(await([&] { return s.exists(rung); }));
    SteadyNeighbour neighbour(broker_address(), s.rejecting, milliseconds(200));
    const Machine machine;
    const auto begin = Clock::now();
    {
        HangingQueue hang(rung);
        const std::string body(100'000, 'x');
        for (int i = 0; i < many; ++i)
            s.client.send("", s.source, {.body = body, .headers = {{"my-origin", longstr(s.work)}}});
        s.client.await_confirms();
        CHECK(await([&] { return since(begin) > seconds(10); }));
    }
    const auto late = neighbour.between(begin, Clock::now());
    REQUIRE_FALSE(late.empty());
    CHECK(late.back() <= milliseconds(1'000) + machine.slack());
    CHECK(s.await_depth(s.source, 0));
    s.stop();
}
