// The return from a rung is the broker's own: it needs no daemon, and holds the message until the work queue has it.
#include <optional>

#include "faults/broker_setting.h"
#include "faults/through_faults.h"
#include "support/alarm.h"

using namespace retryd::test;

namespace {

/// What no rung could return is sent again after a second instead of three minutes.
struct QuickReturn : ThroughFaults {
    QuickReturn() {
        if (has_quorum_ttl()) again.emplace("dead_letter_worker_publisher_confirm_timeout", "1000");
    }

    /// On the rung of the other queue.
    void put_on_rung(int count, const std::string& delay) {
        ladder().delays = {delay};
        start();
        REQUIRE(await([&] { return exists(rung(other, delay)); }));  // else some take a detour
        for (int i = 0; i < count; ++i)
            reject("other" + std::to_string(i), other);
        client.await_confirms();
        REQUIRE(await_depth(rung(other, delay), static_cast<std::uint32_t>(count)));
    }
    void await_expiry(const std::string& delay) { REQUIRE(await_depth(rung(other, delay), 0)); }

    std::optional<BrokerSetting> again;
};

}  // namespace

TEST_CASE("messages on a rung come back while no daemon runs", "[own-broker]") {
    ThroughFaults s;
    s.ladder().delays = {"3s"};  // the other queue's; all are there at once for some time, on a busy machine, too
    s.start();
    s.await_declared();
    for (int i = 0; i < 10; ++i)
        s.reject("other" + std::to_string(i), s.other);
    s.client.await_confirms();
    REQUIRE(s.await_depth(s.rung(s.other, "3s"), 10));
    SECTION("it was stopped") {
        s.stop();
    }
    SECTION("it was killed") {
        s.daemon.kill();
    }
    REQUIRE(s.await_depth(s.other, 10));
    s.start();
    s.check_nothing_is_lost();
    s.stop();
}

TEST_CASE("a work queue that refuses what comes back, being full: it stays on its rung and comes when there is room",
          "[own-broker]") {
    QuickReturn s;
    s.client.delete_queue(s.other);
    s.work_queue("other", {{"x-max-length", int32(1)}, {"x-overflow", longstr("reject-publish")}});
    s.client.publish("", s.other, {.body = "full", .properties = {.message_id = "full"}});
    s.put_on_rung(3, "3s");
    s.await_expiry("3s");
    CHECK(s.depth(s.other) == 1);
    s.check_nothing_is_lost();
    s.stop();
}

TEST_CASE("a work queue that is deleted, and made again: what waited for it on a rung of its own comes back",
          "[own-broker]") {
    QuickReturn s;
    s.client.delete_queue(s.other);
    s.put_on_rung(40, "3s");
    s.await_expiry("3s");
    s.work_queue("other");
    s.check_nothing_is_lost();
    s.stop();
}

TEST_CASE("a return exchange that is deleted under way: made again, what waits on shared rungs comes back",
          "[own-broker]") {
    QuickReturn s;
    s.config.ladders.clear();
    s.config.entries.clear();
    const std::string ladder = s.share({s.work, s.queue_name("oth*")}, {"4s"});
    s.start();
    s.await_declared();
    s.reject_many(20);
    REQUIRE(s.await_depth(s.shared_rung(ladder, "4s"), 20));
    s.client.delete_exchange("retryd.return");
    REQUIRE(s.await_depth(s.shared_rung(ladder, "4s"), 0));
    CHECK(s.depth(s.work) == 0);
    // Within a minute it is made by itself; a queue that is new to the daemon needs it at once.
    s.reject("new", s.other);
    s.check_nothing_is_lost();
    CHECK(s.parked.empty());
    s.stop();
}

TEST_CASE("what a rung returns comes back under an alarm, too", "[own-broker]") {
    QuickReturn s;
    s.client.delete_queue(s.other);
    s.put_on_rung(10, "3s");
    const Alarm memory(Alarm::Cause::memory);
    const Alarm disk(Alarm::Cause::disk);
    s.work_queue("other");
    CHECK(s.await_depth(s.other, 10));
    s.check_nothing_is_lost();
    s.stop();
}
