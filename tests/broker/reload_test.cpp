// SIGHUP: the configuration is reloaded under load, without a new connection and without losing a message.
#include <algorithm>
#include <map>

#include "support/catch.h"
#include "support/hanging_queue.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr int reloaded_among = 10'000;
constexpr const char* in_force = "in force from the next message on";

/// Two work queues. The old policy retries each message of `by_ladder` once, the new one twice on other rungs; of
/// `by_reason` the old one retries what was rejected, the new one parks it. Each policy parks in a place of its own.
struct Change : Scenario {
    Change() : by_ladder(work_queue("by_ladder")), by_reason(work_queue("by_reason")) {
        set_policy(old_place, {"100ms"}, "retry");
    }

    void set_policy(const std::string& place, const std::vector<std::string>& delays, const std::string& on_rejected) {
        config.ladders.clear();
        config.entries.clear();
        retry(by_ladder, delays);
        entry().parked = place;
        retry(by_reason, delays);
        entry().parked = place;
        entry().on = "{rejected: " + on_rejected + "}";
    }

    void change_policy() {
        set_policy(new_place, {"150ms", "200ms"}, "park");
        reload();
    }

    /// Whether a message came.
    static bool reject_what_comes(Worker& worker, int at_most) {
        int count = 0;
        while (count < at_most) {
            const auto message = worker.client.next(milliseconds(count == 0 ? 10 : 0));
            if (!message) break;
            worker.reject(*message);
            ++count;
        }
        return count > 0;
    }

    /// Until everything is parked; changes the policy when the first messages are.
    void reject_everything() {
        Worker ladder_worker(by_ladder, 500);
        Worker reason_worker(by_reason, 500);
        bool changed = false;
        Clock::time_point last_arrival = Clock::now();
        // Where the shorter detours do not confirm for a moment either, a message takes the one of five minutes.
        while (since(last_arrival) < core::detour_delays.back() + patience) {
            const bool rejected = reject_what_comes(ladder_worker, 250);
            if (reject_what_comes(reason_worker, 250) || rejected) last_arrival = Clock::now();
            const std::uint32_t old_ones = depth(old_place);
            if (old_ones + depth(new_place) == reloaded_among) return;
            if (!changed && old_ones > 0) change_policy();
            changed = changed || old_ones > 0;
        }
    }

    std::string by_ladder;
    std::string by_reason;
    std::string old_place = queue_name("parked-by-the-old");
    std::string new_place = queue_name("parked-by-the-new");
};

/// Which policy has parked the message shows in its reason and attempt.
std::string reason_and_attempt(const Received& parked) {
    return text_header(parked, "retryd-parked-reason") + " at " + std::to_string(long_header(parked, "retryd-attempt"));
}

/// Consumes and counts all messages parked there: each is as `right` says for its work queue.
void collect(Scenario& s, const std::string& place, const std::map<std::string, std::vector<std::string>>& right,
             std::map<std::string, int>& copies, std::string& wrong) {
    const std::uint32_t waiting = s.depth(place);
    Worker worker(place, 1000);
    for (std::uint32_t n = 0; n < waiting; ++n) {
        const Received parked = worker.receive();
        worker.ack(parked);
        ++copies[parked.body];
        const auto& expected = right.at(text_header(parked, "retryd-queue"));
        if (std::find(expected.begin(), expected.end(), reason_and_attempt(parked)) == expected.end())
            wrong += parked.body + " in " + place + ": " + reason_and_attempt(parked) + "\n";
    }
}

}  // namespace

TEST_CASE("reload among 10,000 messages: none lost, none twice, each decided by one policy wholly, connection kept",
          "[threads][flood][slow][night][one-version]") {
    Change s;
    s.start();
    for (int n = 0; n < reloaded_among; ++n)
        s.client.send("", n % 2 == 0 ? s.by_ladder : s.by_reason, {.body = std::to_string(n)});
    s.client.await_confirms();
    s.reject_everything();
    CHECK(s.depth(s.old_place) > 0);
    CHECK(s.depth(s.new_place) > 0);

    const int ended = s.daemon.ended_by_a_busy_broker();
    CHECK(ended <= 2);
    std::map<std::string, int> copies;
    std::string wrong;
    collect(s, s.old_place, {{s.by_ladder, {"attempts-exhausted at 2"}}, {s.by_reason, {"attempts-exhausted at 2"}}},
            copies, wrong);
    collect(
        s, s.new_place,
        {{s.by_ladder, {"attempts-exhausted at 3"}}, {s.by_reason, {"reason-rejected at 1", "reason-rejected at 2"}}},
        copies, wrong);
    for (const auto& [body, times] : copies)
        if (times > 1 + ended) wrong += body + " came " + std::to_string(times) + " times\n";
    CHECK(wrong == "");
    CHECK(copies.size() == reloaded_among);
    CHECK(s.depth(s.config.error_queue) == 0);
    CHECK(s.depth(s.config.catch_all) == 0);
    CHECK(s.daemon.lines_with({"connected to"}) == 1 + ended);
    CHECK(s.daemon.lines_with({in_force}) == 1);
    s.stop();
}

TEST_CASE("reload of a wrong file changes nothing, and the log tells every problem in it", "[threads][one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    const std::string right = s.config.yaml();
    s.daemon.reload(right + "unknown_key: 1\nqueues_too: 2\n");
    REQUIRE(s.daemon.await_log("was not reloaded"));
    CHECK(s.daemon.lines_with({"error", s.daemon.config_file(), "unknown_key"}) == 1);
    CHECK(s.daemon.lines_with({"error", s.daemon.config_file(), "queues_too"}) == 1);
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a new entry's rungs are declared at reload, before any message, and its messages are retried",
          "[threads][one-version]") {
    Scenario s;
    s.retry(s.work_queue("work"), {"100ms"});
    s.start();
    const std::string added = s.work_queue("added");
    s.retry(added, {"120ms"});
    const std::string sharing = s.work_queue("sharing");
    const std::string ladder = s.share({sharing}, {"130ms"});
    s.reload();
    CHECK(await([&] { return s.exists(s.rung(added, "120ms")) && s.exists(s.parking_of(added)); }));
    CHECK(await([&] { return s.exists(s.shared_rung(ladder, "130ms")) && s.exists(s.parking_of(sharing)); }));
    for (const std::string& work : {added, sharing}) {
        Worker worker(work);
        s.client.publish("", work, {.body = "x"});
        worker.reject(worker.receive());
        CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    }
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("what waits on a rung when its entry changes comes back, and its next failure takes the new ladder",
          "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"9s", "1h"});  // it must still wait when the reload comes
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.rung(work, "9s"), 1));
    s.config.ladders.back().delays = {"100ms", "110ms"};
    s.reload();
    REQUIRE(s.daemon.await_log(in_force));
    worker.reject(worker.receive());
    const Received back = worker.receive();
    CHECK(long_header(back, "retryd-attempt") == 2);
    worker.reject(back);
    CHECK(text_header(s.take(s.parking_of(work)), "retryd-parked-reason") == "attempts-exhausted");
}

TEST_CASE("another error queue takes a new connection: the log says why, and nothing is lost on the way",
          "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.start();
    REQUIRE(s.daemon.await_log("connected to"));
    const std::string former = s.config.error_queue;
    s.config.error_queue = s.queue_name("errors-too");
    s.reload();
    REQUIRE(await([&] { return s.consuming(); }));
    CHECK(await([&] { return s.daemon.lines_with({"connected to"}) == 2; }));
    CHECK(s.daemon.lines_with({"errors.queue", "new connection"}) == 1);
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    // The former queue is still bound. The log says so; the operator has to unbind it.
    CHECK(await([&] { return s.daemon.lines_with({"warning", former}) >= 1; }));
    s.stop();
}

TEST_CASE("an earlier configuration comes back while messages are open: no connection is lost", "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"10m"});
    s.start();
    // It is declared after the rung: by then the broker has answered for that.
    REQUIRE(await([&] { return s.exists(Scenario::parking_of(work)); }));
    HangingQueue hang(Scenario::rung(work, "10m"));
    s.client.publish("", work, {.body = "open"});
    Worker worker(work);
    worker.reject(worker.receive());
    REQUIRE(s.daemon.await_log("does not confirm messages for queue"));
    const std::string one = s.config.yaml();
    s.entry().max_age = "1d";
    const std::string other = s.config.yaml();
    for (int i = 1; i <= 4; ++i) {
        s.daemon.reload(i % 2 == 1 ? other : one);
        REQUIRE(await([&] { return s.daemon.lines_with({in_force}) == i; }));
        s.client.publish("", work, {.body = "another"});
        worker.reject(worker.receive());
        REQUIRE(s.await_depth(s.config.error_queue, 0));
    }
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    hang.end();
    CHECK(s.await_depth(Scenario::rung(work, "10m"), 5, seconds(150)));  // on a busy machine by a detour of 30 s
    s.stop();
}
