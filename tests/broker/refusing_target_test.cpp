// A rung or parking queue that takes no messages concerns nobody else: its messages wait on a detour, their attempt
// unspent, and come when it takes messages again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/forged.h"
#include "support/full_queue.h"
#include "support/hanging_queue.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Neighbours : Scenario {
    std::string bad = work_queue("bad");
    std::string good = work_queue("good");

    Neighbours() {
        retry(bad, {"10m"});
        retry(good, {"200ms"});
    }

    std::string bad_rung() const { return rung(bad, "10m"); }

    /// With everything declared: the first message of the good queue is not late for that.
    void begin() {
        start();
        await_declared();
    }

    /// Whether it is told once that this queue takes none: refused or, where the broker took its time for the first
    /// refusal, silent.
    bool told_once(const std::string& queue) const {
        return await([&] {
            return daemon.lines_with({"warning", "refused (nacked)", queue, "retryd.detour"}) +
                       daemon.lines_with({"warning", "does not confirm messages", queue, "retryd.detour"}) ==
                   1;
        });
    }

    /// As if they had died in the queue, so many at once.
    void fail(const std::string& queue, int messages, int first = 0) {
        for (int i = first; i < first + messages; ++i)
            client.send(config.error_exchange, "", {.body = std::to_string(i), .headers = died_in(queue)});
        client.await_confirms();
    }

    /// The lateness of what is rejected in the other queue, over its delay of 200 ms.
    std::vector<milliseconds> lateness_of_good(int messages) {
        Worker worker(good);
        std::vector<milliseconds> late;
        for (int i = 0; i < messages; ++i) {
            client.publish("", good, {.body = "neighbour"});
            const Received message = worker.receive();
            const Clock::time_point rejected = Clock::now();
            worker.reject(message);
            worker.ack(worker.receive());
            late.push_back(since(rejected) - milliseconds(200));
        }
        std::sort(late.begin(), late.end());
        if (std::getenv("RETRYD_SHOW_LATENESS") != nullptr) {
            const auto at = [&](std::size_t percent) { return late[(late.size() - 1) * percent / 100].count(); };
            std::printf("neighbour's lateness: p50 %ld ms, p99 %ld ms, max %ld ms\n", static_cast<long>(at(50)),
                        static_cast<long>(at(99)), static_cast<long>(at(100)));
        }
        return late;
    }

    void check_good_is_in_time(int messages) {
        const Machine machine;
        const std::vector<milliseconds> late = lateness_of_good(messages);
        CHECK(late.back() <= milliseconds(1'000) + machine.slack());
        CHECK(daemon.lines_with({"connected to"}) == 1);
        CHECK(depth(config.catch_all) == 0);
    }

    /// Each once, and with the attempt that it had.
    void check_all_on_rung(std::size_t messages) {
        std::multiset<std::string> bodies;
        const bool all = await(
            [&] {
                while (const auto message = client.get(bad_rung())) {
                    if (message->body == "filling") continue;
                    bodies.insert(message->body);
                    CHECK(long_header(*message, "retryd-attempt") == 1);
                }
                return bodies.size() >= messages;
            },
            seconds(150));  // the longer the trouble has lasted, the longer the detour: 30 s on a busy machine
        CHECK(all);
        CHECK(std::set<std::string>(bodies.begin(), bodies.end()).size() == messages);
        CHECK(await_depth(config.error_queue, 0));
        for (const char* const detour : {"retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"})
            CHECK(depth(detour) == 0);
        CHECK(depth(bad_rung()) == 0);
        CHECK(daemon.lines_with({"retryd.detour", "takes no messages"}) == 0);
    }

    void check_full_rung(int messages) {
        begin();
        {
            const FullQueue full(bad_rung());
            fail(bad, messages);
            check_good_is_in_time(10);
            CHECK(told_once(bad_rung()));
            CHECK(daemon.await_log("refused (nacked) a message for queue '" + bad_rung() + "'"));
        }
        check_all_on_rung(static_cast<std::size_t>(messages));
        CHECK(daemon.await_log("'" + bad_rung() + "' takes messages again"));
        stop();
    }

    /// Messages that nothing is known of, and some say that they are of the other queue.
    void check_full_catch_all(int messages) {
        begin();
        const int before = [&] {
            const FullQueue full(config.catch_all);
            for (int i = 0; i < messages; ++i)
                client.send(config.error_exchange, "",
                            {.body = std::to_string(i), .headers = {{"retryd-queue", longstr(good)}}});
            client.await_confirms();
            const Machine machine;
            CHECK(lateness_of_good(10).back() <= milliseconds(1'000) + machine.slack());
            CHECK(await_depth(config.error_queue, 0));
            CHECK(told_once(config.catch_all));
            CHECK(daemon.await_log("refused (nacked) a message for queue '" + config.catch_all + "'"));
            CHECK(daemon.lines_with({"there is no detour for them"}) == 0);
            return static_cast<int>(depth(config.catch_all));
        }();
        REQUIRE(await_depth(config.catch_all, static_cast<std::uint32_t>(before + messages), seconds(150)));
        CHECK(daemon.await_log("'" + config.catch_all + "' takes messages again"));
        std::set<std::string> bodies;
        while (const auto message = client.get(config.catch_all)) {
            if (message->body == "filling") continue;
            bodies.insert(message->body);
            CHECK(text_header(*message, "retryd-parked-reason") == "no-death");
            CHECK(text_header(*message, "retryd-queue") == good);
            CHECK(find(message->headers, "x-death") == nullptr);
        }
        CHECK(bodies.size() == static_cast<std::size_t>(messages));
        CHECK(depth(good) == 0);
        CHECK(daemon.lines_with({"connected to"}) == 1);
        stop();
    }

    void check_silent_rung(int messages) {
        begin();
        HangingQueue hang(bad_rung());
        fail(bad, messages);
        check_good_is_in_time(10);
        CHECK(daemon.await_log("does not confirm messages for queue '" + bad_rung() + "'"));
        hang.end();
        check_all_on_rung(static_cast<std::size_t>(messages));
        stop();
    }
};

}  // namespace

// Not one test case for both numbers: each needs a vhost of its own, for there the detours lead to one error exchange.

TEST_CASE("a full rung holds up no other, and its message comes when there is room", "[one-version]") {
    Neighbours s;
    s.check_full_rung(1);
}

TEST_CASE("a full rung holds up no other, and its 700 messages come when there is room", "[one-version][night]") {
    Neighbours s;
    s.check_full_rung(700);
}

TEST_CASE("a rung that does not answer holds up no other, and what waits for it comes once, when it answers",
          "[one-version]") {
    Neighbours s;
    s.check_silent_rung(1);
}

TEST_CASE("a rung that does not answer holds up no other, and 700 that wait for it come once, when it answers",
          "[one-version]") {
    Neighbours s;
    s.check_silent_rung(700);
}

TEST_CASE("a rung that stops to answer while much is under way to it holds up no other", "[one-version]") {
    constexpr int messages = 700;
    Neighbours s;
    s.begin();
    s.fail(s.bad, 300, 10'000);  // it is known to answer
    REQUIRE(s.await_depth(s.bad_rung(), 300));
    HangingQueue hang(s.bad_rung());
    s.fail(s.bad, messages);
    s.check_good_is_in_time(10);
    hang.end();
    s.check_all_on_rung(300 + messages);
    s.stop();
}

// Before 3.10 quorum queues do not refuse.
TEST_CASE("a parking queue that refuses holds up nobody: the catch-all takes its messages",
          "[one-version][since-3.10]") {
    Neighbours s;
    s.begin();
    const FullQueue full(Scenario::parking_of(s.bad));
    constexpr int messages = 700;
    for (int i = 0; i < messages; ++i)
        s.client.send(s.config.error_exchange, "",
                      {.body = std::to_string(i), .headers = {{"x-death", array({death_entry(s.bad, "expired")})}}});
    s.client.await_confirms();
    const Machine machine;
    CHECK(s.lateness_of_good(10).back() <= milliseconds(1'000) + machine.slack());
    CHECK(s.await_depth(s.config.catch_all, messages));
    s.stop();
}

TEST_CASE("a catch-all that refuses holds up nobody, and 300 messages that nothing is known of come when it takes them",
          "[one-version]") {
    Neighbours s;
    if (s.has_quorum_ttl()) s.check_full_catch_all(300);
}

TEST_CASE(
    "a catch-all that refuses holds up nobody, and 1,200 messages that nothing is known of come when it takes them",
    "[slow][one-version][night]") {
    Neighbours s;
    if (s.has_quorum_ttl()) s.check_full_catch_all(1'200);
}

TEST_CASE("a parking exchange that is deleted holds up nobody: the catch-all takes its messages", "[one-version]") {
    constexpr int messages = 700;
    Neighbours s;
    const std::string exchange = s.exchange_name("dlx");
    s.client.declare_exchange(exchange, "fanout");
    s.config.entries.front().parked_to = "{exchange: " + exchange + ", routing_key: x}";
    s.begin();
    s.client.delete_exchange(exchange);
    for (int i = 0; i < messages; ++i)
        s.client.send(s.config.error_exchange, "",
                      {.body = std::to_string(i), .headers = {{"x-death", array({death_entry(s.bad, "expired")})}}});
    s.client.await_confirms();
    const Machine machine;
    CHECK(s.lateness_of_good(10).back() <= milliseconds(1'000) + machine.slack());
    CHECK(s.await_depth(s.config.catch_all, messages));
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
    CHECK(s.depth(s.config.catch_all) == messages);
}

// Before 3.10 detours are classic queues: all that waits on one returns at once.
TEST_CASE("100,000 messages for a full rung hold up no other once they are out of the error queue",
          "[flood][slow][night][one-version][since-3.10]") {
    constexpr int messages = 100'000;
    Neighbours s;
    s.start();
    const FullQueue full(s.bad_rung());
    const std::uint32_t filling = s.depth(s.bad_rung());
    s.fail(s.bad, messages);
    REQUIRE(await([&] { return s.depth(s.config.error_queue) < 50; }, seconds(120)));
    s.check_good_is_in_time(50);
    s.stop();
    const auto everywhere = [&] {
        std::uint32_t sum = 0;
        for (const std::string& queue : {s.config.error_queue, s.bad_rung(), std::string("retryd.detour.2s"),
                                         std::string("retryd.detour.30s"), std::string("retryd.detour.5m")})
            sum += s.depth(queue);
        return sum;
    };
    CHECK(await([&] { return everywhere() == messages + filling; }));
}
