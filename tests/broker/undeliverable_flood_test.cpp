// Many messages at once that RabbitMQ cannot hand over (docs/security.md), sent by a stranger with a queue of his own:
// what a neighbour notices whose messages fail meanwhile.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "broker/connect_time.h"
#include "broker/hostile_gallery.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/management.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/steady_neighbour.h"

using namespace retryd::test;

namespace {

constexpr milliseconds rung_of_good{200};

struct UndeliverableFlood : Scenario {
    explicit UndeliverableFlood(const std::string& error_queue_type = "quorum") {
        config.error_queue_type = error_queue_type;
        retry(good, {"200ms"});
        start();
    }

    void undeliverable() {
        if (version_of(client) < Version{4, 0}) return amqp10::publish(strange, {.message_id = amqp10::ulong(1)});
        amqp10::publish(strange, {.application_properties = {{"a", amqp10::uuid()}}});
    }

    /// All of them die in the same moment.
    void at_once(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            undeliverable();
        REQUIRE(await_depth(strange, count));
        set_policy("flood-length", "^" + strange + "$", R"({"max-length": 0})");
    }

    std::string good = work_queue("good");
    std::string strange = work_queue("strange");
};

struct Noticed {
    milliseconds out_of_the_way;
    std::vector<milliseconds> late;
};

/// Returns once all of them are in the catch-all, and what failed meanwhile is home.
Noticed notice(UndeliverableFlood& s, std::uint32_t bad, milliseconds patience) {
    SteadyNeighbour neighbour(broker_address(), s.good, rung_of_good);
    REQUIRE(await([&] { return !neighbour.between({}, Clock::now()).empty(); }));
    const auto begin = Clock::now();
    s.at_once(bad);
    const auto dead = Clock::now();
    CHECK(await([&] { return s.depth(s.config.catch_all) >= bad; }, patience));
    Noticed noticed{since(dead), {}};
    CHECK(s.depth(s.config.catch_all) == bad);
    noticed.late = neighbour.between(begin, Clock::now());
    REQUIRE_FALSE(noticed.late.empty());
    const auto part = [&](std::size_t of_hundred) {
        return static_cast<long>(noticed.late[(noticed.late.size() - 1) * of_hundred / 100].count());
    };
    std::printf(
        "        %u at once: out of the way after %ld ms; of %zu others half %ld ms late, the latest %ld ms, "
        "one at most %d times home, %d second copies\n",
        bad, static_cast<long>(noticed.out_of_the_way.count()), noticed.late.size(), part(50), part(100),
        neighbour.most_returns(), neighbour.second_copies());
    CHECK(neighbour.most_returns() <= 2);
    CHECK(s.depth(s.parking_of(s.good)) == 0);
    CHECK(s.daemon.lines_with({"cannot be published again"}) == 0);
    CHECK(s.daemon.lines_with({"ended the connection: "}) == 0);
    return noticed;
}

}  // namespace

TEST_CASE("thirty messages at once that RabbitMQ cannot hand over are out of the way as soon as one, and hurt nobody",
          "[serial][two-versions]") {
    UndeliverableFlood s;
    const ConnectTime connecting;
    const Machine machine;
    const bool rejects = version_of(s.client) >= Version{4, 0};
    const Noticed noticed = notice(s, rejects ? 30 : 5, seconds(400));
    // Each takes three connections or a few more where AMQP 1.0 takes them out, else a hundred.
    const milliseconds within = seconds(30) + connecting.of(rejects ? 120 : 500) + machine.slack();
    CHECK(noticed.out_of_the_way < within);
    CHECK(noticed.late.back() < within);
    CHECK(s.daemon.lines_with({"could not hand over", "is out of the way now", s.config.catch_all}) <= 1);
    if (rejects) CHECK(s.daemon.lines_with({"warning", "cannot hand over by AMQP 0-9-1 goes from queue"}) >= 1);
    s.stop();
}

TEST_CASE("many messages at once that RabbitMQ cannot hand over: measured, with RETRYD_UNDELIVERABLE of them",
          "[.measure]") {
    UndeliverableFlood s;
    const char* const number = std::getenv("RETRYD_UNDELIVERABLE");
    const auto count = static_cast<std::uint32_t>(number == nullptr ? 30 : std::stoul(number));
    notice(s, count, seconds(1'800));
    s.stop();
    std::printf("%s\n", s.daemon.log().c_str());
}

TEST_CASE("a flood of small hostile messages: measured, with RETRYD_HOSTILE of them and RETRYD_ERRORS a classic queue",
          "[.measure]") {
    const char* const type = std::getenv("RETRYD_ERRORS");
    const char* const number = std::getenv("RETRYD_HOSTILE");
    const int count = number == nullptr ? 50'000 : std::stoi(number);
    UndeliverableFlood s(type == nullptr ? "quorum" : type);
    const std::string expiring = s.work_queue("glob.expiring", {{"x-message-ttl", int32(1)}});
    s.retry(s.queue_name("glob.*"), {"100ms"}, "classic");
    s.entry().on = "{expired: retry}";
    s.reload();
    const GalleryNames names{s.good,
                             s.good,
                             s.queue_name("glob.ghost"),
                             s.good,
                             s.config.error_queue,
                             s.config.catch_all,
                             s.parking_of(s.good),
                             s.rung(s.good, "200ms")};
    std::vector<Message> small;
    for (HostileMessage& hostile : hostile_gallery(names)) {
        const bool may = !hostile.breaks_old_brokers || version_of(s.client) >= Version{3, 13};
        if (may && !hostile.unreadable && hostile.message.body.size() < 3'000 &&
            hostile.what.find("000") == std::string::npos && hostile.what.find("500") == std::string::npos)
            small.push_back(hostile.message);
    }
    // Those that the broker refuses, by ending the connection, are no flood.
    std::erase_if(small, [&](const Message& message) {
        try {
            Client(broker_address()).publish("", s.plain_queue("taken"), message);
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    });
    SteadyNeighbour neighbour(broker_address(), s.good, rung_of_good);
    REQUIRE(await([&] { return !neighbour.between({}, Clock::now()).empty(); }));
    const auto lines = [&] { return static_cast<long>(s.daemon.lines_with({""})); };
    const long lines_before = lines();
    const long memory_before = s.daemon.resident_kib();
    long memory = memory_before;
    const auto begin = Clock::now();
    Client attacker(broker_address());
    for (int i = 0; i < count; ++i) {
        attacker.send("", expiring, small[static_cast<std::size_t>(i) % small.size()]);
        if (i % 1'000 == 0) memory = std::max(memory, s.daemon.resident_kib());
    }
    attacker.await_confirms();
    const auto sent = since(begin);
    const auto settled = [&] {
        memory = std::max(memory, s.daemon.resident_kib());
        std::size_t parked = s.depth(s.config.catch_all);
        for (const std::string& queue : queue_names())
            if (queue.starts_with(s.queue_name("")) && queue.ends_with(".parked")) parked += s.depth(queue);
        return parked >= static_cast<std::size_t>(count);
    };
    CHECK(await(settled, seconds(600)));
    const auto end = Clock::now();
    const auto late = neighbour.between(begin, end);
    REQUIRE_FALSE(late.empty());
    std::printf(
        "        %d hostile ones of %zu kinds sent in %ld ms, all parked after %ld ms; of %zu others half %ld ms "
        "late, 99 %% %ld, the latest %ld, second copies %d; memory %ld -> %ld KiB, %ld lines of log\n",
        count, small.size(), static_cast<long>(sent.count()),
        static_cast<long>(std::chrono::duration_cast<milliseconds>(end - begin).count()), late.size(),
        static_cast<long>(late[late.size() / 2].count()), static_cast<long>(late[late.size() * 99 / 100].count()),
        static_cast<long>(late.back().count()), neighbour.second_copies(), memory_before, memory,
        lines() - lines_before);
    s.stop();
}

TEST_CASE("parked list of what cannot be handed over beside many large ones: measured, with RETRYD_LARGE of 1 MiB",
          "[.measure]") {
    const char* const number = std::getenv("RETRYD_LARGE");
    const int large = number == nullptr ? 200 : std::stoi(number);
    UndeliverableFlood s;
    s.stop();
    const std::string queue = s.config.catch_all;
    s.strange = queue;
    for (int i = 0; i < large; ++i) {
        s.client.send("", queue, {.body = std::string(1'048'576, 'x'), .headers = died_in(s.good)});
        if (i % 20 == 0) s.undeliverable();
        if (i % 10 == 0) s.client.await_confirms();
    }
    s.client.await_confirms();
    std::printf("        %u in the queue\n", s.depth(queue));
    for (const char* words :
         {"parked list", "parked list", "parked drop --reason undeliverable --yes", "parked list"}) {
        const auto begin = Clock::now();
        const CommandResult result =
            run_retryd(std::string(words) + " -c " + s.daemon.config_file() + " --from " + queue);
        std::printf("        %s: %d after %ld ms\n%s%s\n", words, result.code, static_cast<long>(since(begin).count()),
                    result.out.c_str(), result.err.c_str());
    }
}
