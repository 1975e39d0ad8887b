// How late the messages of a work queue are beside a target that takes none: at most a second at night, with 700
// messages for that target. And measured, for docs/performance.md, with a broker of scripts/broker and its environment:
//
//   RETRYD_MESSAGES=100000 RETRYD_TEST_BINARY=build/release/src/retryd build/dev/tests/broker/broker_tests '[lateness]'
//
// RETRYD_RATE=2500: so many of them a second, and not as many as one producer can send.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/forged.h"
#include "support/full_queue.h"
#include "support/hanging_queue.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/steady_neighbour.h"

using namespace retryd::test;

namespace {

int number_of_environment(const char* name, int otherwise) {
    const char* const number = std::getenv(name);
    return number == nullptr ? otherwise : std::atoi(number);
}

struct Measured : Scenario {
    explicit Measured(std::string what_is_wrong) : what(std::move(what_is_wrong)) {
        config.http = "127.0.0.1:0";
        retry(queue_name("glob.*"), {"3h"});
        retry(good, {"200ms"});
    }

    void warm_up() {
        neighbour = std::make_unique<SteadyNeighbour>(broker_address(), good, milliseconds(200));
        std::this_thread::sleep_for(seconds(3));
    }

    /// `parked`: as if they had expired, which is not retried.
    void fail(bool parked) {
        const std::string reason = parked ? "expired" : "rejected";
        const int rate = number_of_environment("RETRYD_RATE", 0);
        const Clock::time_point begin = Clock::now();
        for (int i = 0; i < messages; ++i) {
            if (rate > 0) std::this_thread::sleep_until(begin + milliseconds(static_cast<long>(i) * 1000 / rate));
            client.send(config.error_exchange, "",
                        {.body = std::to_string(i),
                         .headers = {{"x-death", array({death_entry(bad, reason)})}},
                         .properties = {.delivery_mode = 2}});
        }
        client.await_confirms();
    }

    struct Usage {
        Clock::time_point time = Clock::now();
        double cpu;
        double detoured;
        double requeued;
        long mib;
    };
    Usage usage() const {
        const Served served(daemon);
        double requeued = 0;
        for (const char* const cause :
             {"nacked", "returned", "channel_closed", "unanswered", "detour_refused", "stuck"})
            requeued += std::max(0.0, served.metric("retryd_requeued_total{cause=\"" + std::string(cause) + "\"}"));
        return {Clock::now(), served.metric("process_cpu_seconds_total"),
                std::max(0.0, served.metric("retryd_detoured_total{queue=\"" + bad + "\"}")), requeued,
                daemon.resident_kib() / 1024};
    }

    void tell(const std::string& phase, const Usage& from, const Usage& to) {
        const auto late = neighbour->between(from.time, to.time);
        const auto part = [&](std::size_t percent) {
            return late.empty() ? -1L : static_cast<long>(late[(late.size() - 1) * percent / 100].count());
        };
        const double time = static_cast<double>((to.time - from.time) / milliseconds(1)) / 1000.0;
        std::printf(
            "%-7s %-20s %7d %-13s %6.1f s  neighbour %5zu: p50 %5ld p99 %6ld max %6ld ms  cpu %3.0f %%  %ld MiB  "
            "detoured %.0f requeued %.0f\n",
            client.broker_version().c_str(), what.c_str(), messages, phase.c_str(), time, late.size(), part(50),
            part(99), part(100), 100 * (to.cpu - from.cpu) / time, to.mib, to.detoured - from.detoured,
            to.requeued - from.requeued);
        std::fflush(stdout);
    }

    /// The messages come while the target takes none, and wait for it.
    void suffer(bool parked = false) {
        at.push_back(usage());
        std::atomic<bool> sent = false;
        std::thread sending([&] {
            fail(parked);
            sent = true;
        });
        Client look(broker_address());
        await(
            [&] {
                const std::uint32_t ready = look.look_at(config.error_queue)->messages;
                most = std::max(most, ready);
                return sent && ready <= 5;
            },
            seconds(280));
        sending.join();
        at.push_back(usage());
        std::this_thread::sleep_for(waiting());
        at.push_back(usage());
        tell("while it comes", at[0], at[1]);
        std::printf("        at most %u ready in the error queue\n", most);
        tell("then", at[1], at[2]);
    }
    static milliseconds waiting() { return seconds(number_of_environment("RETRYD_WAITING_SECONDS", 10)); }

    /// Until all are where they belong.
    void recover(const std::vector<std::string>& targets) {
        at.push_back(usage());
        const Usage begin = at.back();
        const auto there = [&] {
            std::uint32_t sum = 0;
            for (const std::string& target : targets)
                sum += depth(target);
            return static_cast<int>(sum);
        };
        const int before = there();
        int half = 0, last = before;
        Clock::time_point half_at = begin.time, progress = begin.time;
        int best = 0;
        CHECK(await(
            [&] {
                const int now = there();
                if (half == 0 && now - before >= (messages - before) / 2) {
                    half = now;
                    half_at = Clock::now();
                }
                if (since(progress) >= seconds(1)) {
                    best = std::max(best, static_cast<int>((now - last) * 1000 / since(progress).count()));
                    last = now;
                    progress = Clock::now();
                }
                return now >= messages + filling;
            },
            seconds(900), milliseconds(50)));
        at.push_back(usage());
        tell("after mending", at[3], at[4]);
        const auto elapsed = [&](Clock::time_point time) {
            return static_cast<double>((time - begin.time) / milliseconds(1)) / 1000.0;
        };
        std::printf(
            "        %d there before, half after %.1f s, %d there after %.1f s, at most %d/s; second copies of the "
            "neighbour %d, connections %d\n",
            before, elapsed(half_at), there(), elapsed(at[4].time), best, neighbour->second_copies(),
            daemon.lines_with({"connected to"}));
        for (const std::string& queue : {std::string("retryd.detour.2s"), std::string("retryd.detour.30s"),
                                         std::string("retryd.detour.5m"), config.catch_all})
            if (depth(queue) > 0) std::printf("        %s: %u\n", queue.c_str(), depth(queue));
        std::fflush(stdout);
        check_neighbour();
        neighbour.reset();
    }
    /// Of many more the neighbour's messages stand behind those in the error queue: that is measured, and no promise.
    void check_neighbour() {
        CHECK(neighbour->second_copies() == 0);
        CHECK(daemon.lines_with({"connected to"}) == sessions);
        if (messages > 1'000) return;
        const std::vector<milliseconds> late = neighbour->between(at[0].time, at[2].time);
        REQUIRE_FALSE(late.empty());
        CHECK(late.back() <= seconds(1) + machine.slack());
    }

    std::string what;
    Machine machine;
    int messages = number_of_environment("RETRYD_MESSAGES", 700);
    int sessions = 1;  // of the daemon
    int filling = 0;   // messages that are in the target all the time
    std::uint32_t most = 0;
    std::vector<Usage> at;
    std::string bad = work_queue("glob.bad");
    std::string good = work_queue("good");
    std::string bad_rung = rung(bad, "3h");
    std::unique_ptr<SteadyNeighbour> neighbour;
};

/// The daemon knows the rung and the parking queue.
struct Known : Measured {
    explicit Known(const std::string& what_is_wrong) : Measured(what_is_wrong) {
        config.entries.front().match = bad;
        start();
        REQUIRE(await([&] { return exists(bad_rung) && exists(parking_of(bad)); }));
        warm_up();
    }
};

}  // namespace

/// What so many messages cost by their number alone.
TEST_CASE("lateness beside a rung that takes them all", "[lateness][night][slow][one-version]") {
    Known s("healthy rung");
    s.suffer();
    s.recover({s.bad_rung});
    s.stop();
}

TEST_CASE("lateness beside a full rung", "[lateness][night][slow][one-version]") {
    Known s("full rung");
    {
        const FullQueue full(s.bad_rung);
        s.filling = static_cast<int>(s.depth(s.bad_rung));
        s.suffer();
    }
    s.recover({s.bad_rung});
    s.stop();
}

TEST_CASE("lateness beside a silent rung", "[lateness][night][slow][one-version]") {
    Known s("silent rung");
    HangingQueue hang(s.bad_rung);
    s.suffer();
    hang.end();
    s.recover({s.bad_rung});
    s.stop();
}

TEST_CASE("lateness beside a full parking queue", "[lateness][night][slow][one-version]") {
    Known s("full parking queue");
    {
        const FullQueue full(Scenario::parking_of(s.bad));
        s.filling = static_cast<int>(s.depth(Scenario::parking_of(s.bad)));
        s.suffer(true);
    }
    s.recover({s.config.catch_all, Scenario::parking_of(s.bad)});
    s.stop();
}

TEST_CASE("lateness beside a missing parking exchange", "[lateness][night][slow][one-version]") {
    Measured s("missing exchange");
    s.config.entries.front().parked_to = "{exchange: " + s.exchange_name("dlx") + ", routing_key: x}";
    s.client.declare_exchange(s.exchange_name("dlx"), "fanout");
    s.start();
    s.warm_up();
    s.client.delete_exchange(s.exchange_name("dlx"));
    s.suffer(true);
    s.recover({s.config.catch_all});
    s.stop();
}

/// A classic one: of a quorum queue that is there a node answers without its leader.
TEST_CASE("lateness beside a rung whose declare is not answered", "[lateness][night][slow][one-version]") {
    Measured s("declare of the rung");
    s.config.ladders.front().queue_type = "classic";
    s.config.entries.front().match = s.bad;
    s.start();
    REQUIRE(await([&] { return s.exists(s.bad_rung); }));
    s.stop();
    s.sessions = 2;
    HangingQueue hang(s.bad_rung);
    s.start();
    s.warm_up();
    s.suffer();
    hang.end();
    s.recover({s.bad_rung});
    s.stop();
}

TEST_CASE("lateness beside a work queue whose check is not answered", "[lateness][night][slow][one-version]") {
    Measured s("check of work queue");
    s.start();
    HangingQueue hang(s.bad);
    s.warm_up();
    s.suffer();
    hang.end();
    s.recover({s.bad_rung});
    s.stop();
}
