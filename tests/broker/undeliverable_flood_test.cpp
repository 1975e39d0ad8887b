// Many messages at once that RabbitMQ cannot hand over (docs/security.md), sent by a stranger with a queue of his own:
// what a neighbour notices whose messages fail meanwhile.
//
// RETRYD_UNDELIVERABLE, RETRYD_HOSTILE and RETRYD_LARGE say how many of each there are at night.
#include <algorithm>
#include <cstdio>
#include <regex>
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

/// What the daemon says of them once they are out of the way.
struct Told {
    std::uint32_t rejected = 0;  // by AMQP 1.0; the others left by the delivery limit
    std::uint32_t ended = 0;     // connections
};

Told told_by(const Daemon& daemon) {
    CHECK(daemon.await_log("is out of the way now"));
    Told told;
    const std::string log = daemon.log();
    const std::regex line(R"((?:, (\d+) messages?,)? has ended (\d+) connections? and is out of the way now)");
    for (std::sregex_iterator found(log.begin(), log.end(), line), none; found != none; ++found) {
        if ((*found)[1].matched) told.rejected += static_cast<std::uint32_t>(std::stoul((*found)[1]));
        told.ended += static_cast<std::uint32_t>(std::stoul((*found)[2]));
    }
    return told;
}

/// A slow machine has as much time as the delivery limit takes: so it counts which way they went. The limit takes a
/// hundred connections for each, the rejection three, and a few hundred more where it did not succeed at once.
void check_rejected(const Daemon& daemon, std::uint32_t bad) {
    const Told told = told_by(daemon);
    INFO(told.rejected << " of " << bad << " rejected, " << told.ended << " connections ended");
    CHECK(told.rejected > bad / 2);
    CHECK(told.rejected <= bad);  // none comes back that was rejected
    CHECK(told.ended < 10 * bad + 400);
}

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
          "[slow][night][every-version]") {
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
    if (rejects) {
        CHECK(s.daemon.lines_with({"warning", "cannot hand over by AMQP 0-9-1 goes from queue"}) >= 1);
        check_rejected(s.daemon, 30);
    }
    s.stop();
}

TEST_CASE("two hundred messages at once that RabbitMQ cannot hand over are rejected together",
          "[slow][night][since-4.0]") {
    UndeliverableFlood s;
    const std::uint32_t bad = this_many("RETRYD_UNDELIVERABLE", 200);
    notice(s, bad, seconds(400));
    check_rejected(s.daemon, bad);
    s.stop();
}

namespace {

/// Small ones out of the gallery that this broker takes: those that it refuses, by ending the connection, are no flood.
std::vector<Message> small_hostile_ones(UndeliverableFlood& s) {
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
    std::erase_if(small, [&](const Message& message) {
        try {
            Client(broker_address()).publish("", s.plain_queue("taken"), message);
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    });
    return small;
}

/// All of them expire in a queue with an entry, in the moment in which they come, and are parked in the end.
void check_flood_of_hostile_ones(const std::string& error_queue_type) {
    constexpr long most_memory = 100 * 1'024;  // KiB more than before
    const std::uint32_t count = this_many("RETRYD_HOSTILE", 20'000);
    UndeliverableFlood s(error_queue_type);
    if (version_of(s.client) < Version{3, 10}) return;  // nothing is promised of the way back there
    const std::string expiring = s.work_queue("glob.expiring", {{"x-message-ttl", int32(1)}});
    s.retry(s.queue_name("glob.*"), {"100ms"}, "classic");
    s.entry().on = "{expired: retry}";
    s.reload();
    const std::vector<Message> small = small_hostile_ones(s);
    SteadyNeighbour neighbour(broker_address(), s.good, rung_of_good);
    REQUIRE(await([&] { return !neighbour.between({}, Clock::now()).empty(); }));
    const auto lines = [&] { return static_cast<long>(s.daemon.lines_with({""}) - s.daemon.lines_with({" debug "})); };
    const long lines_before = lines();
    const long memory_before = s.daemon.resident_kib();
    long memory = memory_before;
    const auto begin = Clock::now();
    Client attacker(broker_address());
    for (std::uint32_t i = 0; i < count; ++i) {
        attacker.send("", expiring, small[i % small.size()]);
        if (i % 1'000 == 0) memory = std::max(memory, s.daemon.resident_kib());
    }
    attacker.await_confirms(seconds(200));
    const auto sent = since(begin);
    const auto settled = [&] {
        memory = std::max(memory, s.daemon.resident_kib());
        std::size_t parked = s.depth(s.config.catch_all);
        for (const std::string& queue : queue_names())
            if (queue.starts_with(s.queue_name("")) && queue.ends_with(".parked")) parked += s.depth(queue);
        return parked >= count;
    };
    CHECK(await(settled, seconds(400)));
    const auto end = Clock::now();
    const auto late = neighbour.between(begin, end);
    REQUIRE_FALSE(late.empty());
    std::printf(
        "        %u hostile ones of %zu kinds sent in %ld ms, all parked after %ld ms; of %zu others half %ld ms "
        "late, 99 %% %ld, the latest %ld, second copies %d; memory %ld -> %ld KiB, %ld lines of log\n",
        count, small.size(), static_cast<long>(sent.count()),
        static_cast<long>(std::chrono::duration_cast<milliseconds>(end - begin).count()), late.size(),
        static_cast<long>(late[late.size() / 2].count()), static_cast<long>(late[late.size() * 99 / 100].count()),
        static_cast<long>(late.back().count()), neighbour.second_copies(), memory_before, memory,
        lines() - lines_before);
    CHECK(neighbour.all_back(begin, end));
    CHECK(s.depth(s.parking_of(s.good)) == 0);
    CHECK(memory - memory_before < most_memory);
    CHECK(lines() - lines_before < 1'000);
    s.stop();
}

}  // namespace

TEST_CASE("a flood of small hostile messages loses none of a neighbour's, nor does the daemon grow by it",
          "[flood][busiest][slow][night]") {
    check_flood_of_hostile_ones("quorum");
}

TEST_CASE("a flood of small hostile messages loses none of a neighbour's where the error queue is a classic one",
          "[flood][busiest][slow][night]") {
    check_flood_of_hostile_ones("classic");
}

// RabbitMQ 3.10.8 does not end the connection over such a message behind a large one: its channel stays silent, and the
// commands say after a minute that not all was looked at.
TEST_CASE("parked commands find what cannot be handed over among many large messages, and drop it",
          "[slow][night][one-version]") {
    const std::uint32_t large = this_many("RETRYD_LARGE", 60);
    constexpr std::uint32_t for_each_bad = 20;
    const std::uint32_t bad = (large + for_each_bad - 1) / for_each_bad;
    UndeliverableFlood s;
    s.stop();
    const std::string queue = s.config.catch_all;
    s.strange = queue;
    for (std::uint32_t i = 0; i < large; ++i) {
        s.client.send("", queue, {.body = std::string(1'048'576, 'x'), .headers = died_in(s.good)});
        s.client.await_confirms(seconds(60));
        if (i % for_each_bad == 0) s.undeliverable();
    }
    REQUIRE(s.await_depth(queue, large + bad));
    const auto parked = [&](const std::string& words) {
        const auto begin = Clock::now();
        CommandResult result = run_retryd("parked " + words + " -c " + s.daemon.config_file() + " --from " + queue);
        std::printf("        %s: %ld ms\n", words.c_str(), static_cast<long>(since(begin).count()));
        CAPTURE(words, result.out, result.err);
        CHECK(result.code == 0);
        return result;
    };
    const CommandResult list = parked("list");
    CHECK(list.says({std::to_string(bad) + " messages that RabbitMQ cannot hand over"}));
    CHECK(s.await_depth(queue, large + bad));
    const CommandResult dropped = parked("drop --reason undeliverable --yes");
    CHECK(dropped.says({std::to_string(bad) + " of " + std::to_string(bad)}));
    CHECK(s.await_depth(queue, large));
    CHECK_FALSE(parked("list").says({"cannot hand over"}));
    CHECK(s.await_depth(queue, large));
}
