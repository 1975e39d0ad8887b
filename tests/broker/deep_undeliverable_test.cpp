// What RabbitMQ cannot hand over, and what it needs minutes to hand over, in one error queue: while the one is got out
// of the way, messages come one at a time, and the other must not be the one that all wait for.
#include <algorithm>
#include <cstdio>
#include <string>

#include "broker/connect_time.h"
#include "support/catch.h"
#include "support/deep_stack.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/steady_neighbour.h"

using namespace retryd::test;

namespace {

constexpr milliseconds out_of_the_way_within = seconds(30);
/// RabbitMQ ends a connection, one of whose channels is busy, only after three seconds for each of its channels
/// (CHANNEL_TERMINATION_TIMEOUT in rabbit_reader.erl; 27 s for these nine on 4.3.6). When the others end, over the
/// message that cannot be handed over, the busy one may be given that message, and keeps it for so long.
constexpr milliseconds kept_by_busy_channel = 9 * seconds(3);

struct BothKinds : Scenario {
    std::string good = work_queue("good");
    /// What is published there is dead-lettered at once.
    std::string strange = work_queue("strange", {{"x-message-ttl", int32(1)}});

    BothKinds() {
        retry(good, {"200ms"});
        start();
    }

    bool before_4() { return version_of(client) < Version{4, 0}; }

    void undeliverable() {
        if (before_4()) return amqp10::publish(strange, {.message_id = amqp10::ulong(1)});
        amqp10::publish(strange, {.application_properties = {{"a", amqp10::uuid()}}});
    }
    /// Too deep to be read, but sent at once.
    void unreadable() { publish_nested(200); }

    void publish_nested(int levels) {
        const DeepStack stack;
        Message message{.body = "deep", .headers = Table(1)};
        message.headers[0].name = "deep";
        message.headers[0].value = nested_arrays(levels);
        client.publish("", strange, message);
    }

    void deep() {
        if (!before_4())
            return amqp10::publish(strange,
                                   {.annotations = {{"x-deep", amqp10::nested_lists(60'000)}}, .body = "deep"});
        publish_nested(26'000);
    }

    void send(const std::string& order) {
        for (const char kind : order) {
            if (kind == 'u') undeliverable();
            if (kind == 'd') deep();
            if (kind == 'r') unreadable();
            if (kind == '-') CHECK(daemon.await_log("the others come one at a time on further channels", seconds(60)));
        }
    }

    /// `order`: u for one that cannot be handed over, d for a deep one, r for one
    /// that cannot be read, - for a while in which that one gets stuck.
    void check_goes_on(const std::string& order) {
        SteadyNeighbour neighbour(broker_address(), good, milliseconds(200));
        const ConnectTime connecting;
        const Machine machine;
        REQUIRE(
            await([&] { return daemon.await_log("connected to") && !neighbour.between({}, Clock::now()).empty(); }));
        const auto begin = Clock::now();
        send(order);
        const auto bad = static_cast<std::uint32_t>(std::count(order.begin(), order.end(), 'u'));
        const auto unreadable = static_cast<std::uint32_t>(std::count(order.begin(), order.end(), 'r'));
        const bool one_is_busy = order.find('-') != std::string::npos;
        const auto within = [&] {
            return out_of_the_way_within + (one_is_busy ? kept_by_busy_channel : milliseconds(0)) +
                   connecting.of(100 * static_cast<int>(bad)) + machine.slack();
        };
        const auto too_late = [&] { return since(begin) > within(); };
        CHECK(await([&] { return depth(config.catch_all) >= bad + unreadable || too_late(); }, seconds(200)));
        CHECK(depth(config.catch_all) >= bad + unreadable);
        const auto gone = Clock::now();
        std::printf("        %s: out of the way after %ld ms of %ld\n", order.c_str(),
                    static_cast<long>(since(begin).count()), static_cast<long>(within().count()));
        // Those that failed meanwhile come home, and do not wait for a deep one.
        CHECK(await([&] { return neighbour.all_back(begin, gone) || since(begin) > 2 * within(); }, seconds(400)));
        REQUIRE(neighbour.all_back(begin, gone));
        // A deep one that has come meanwhile is dead-lettered there, too.
        const auto deep = [&] {  // of many, not each is logged
            return unreadable > 0 ? unreadable : static_cast<std::uint32_t>(daemon.lines_with({"nest too deep"}));
        };
        CHECK(await([&] { return depth(config.catch_all) == bad + deep(); }));
        const auto late = neighbour.between(begin, gone);
        REQUIRE_FALSE(late.empty());
        std::printf("        %zu messages, the latest %ld ms late, %d second copies, all back after %ld ms\n",
                    late.size(), static_cast<long>(late.back().count()), neighbour.second_copies(),
                    static_cast<long>(since(begin).count()));
        CHECK(neighbour.most_returns() <= 2);
        // Each is written to one consumer, and not again and again for whoever gets it next.
        const auto held_up = daemon.lines_with({"is held on a connection of its own"});
        std::printf("        held up %ld times, %u deep ones dead-lettered\n", static_cast<long>(held_up), deep());
        CHECK(held_up <= 2 * std::count(order.begin(), order.end(), 'd') + 1);
        CHECK(daemon.lines_with({"neither retried nor parked"}) == 0);
        CHECK(daemon.lines_with({"ended the connection: "}) == 0);
    }
};

}  // namespace

TEST_CASE("a deep message behind one that cannot be handed over keeps no others from coming home",
          "[busiest][night][one-version]") {
    BothKinds s;
    s.check_goes_on("ud");
    s.stop();
}

TEST_CASE("a deep message in front of one that cannot be handed over keeps no others from coming home",
          "[busiest][night][one-version]") {
    BothKinds s;
    s.check_goes_on("du");
    s.stop();
}

TEST_CASE("a message that cannot be handed over while a deep one is on its way keeps no others from coming home",
          "[busiest][night][one-version]") {
    BothKinds s;
    s.check_goes_on("d-u");
    s.stop();
}

TEST_CASE(
    "a hundred messages that cannot be read behind one that cannot be handed over keep no others from coming home",
    "[busy][night]") {
    BothKinds s;
    s.check_goes_on("u" + std::string(100, 'r'));
    s.stop();
}

TEST_CASE("three deep messages among three that cannot be handed over keep no others from coming home",
          "[busiest][flood][night]") {
    BothKinds s;
    s.check_goes_on("ududud");
    s.stop();
}
