// The return from a rung is the broker's own: it needs no daemon, and holds the message until the work queue has it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "faults/broker_setting.h"
#include "faults/through_faults.h"
#include "support/alarm.h"

using namespace retryd::test;

namespace {

/// All are there at once, for which the rung's delay must be long enough. So few at a time that it takes them however
/// slow it is (TargetFlow::first_window): what it does not take would come later, by a detour.
void fill_rung(ThroughFaults& s, const std::string& rung, int count, const std::string& from) {
    for (int done = 0; done < count;) {
        for (const int end = std::min(done + 4, count); done < end; ++done)
            s.reject("on rung " + std::to_string(done), from);
        s.client.await_confirms();
        REQUIRE(s.await_depth(rung, static_cast<std::uint32_t>(done)));
    }
}

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
        fill_rung(*this, rung(other, delay), count, other);
    }
    void await_expiry(const std::string& delay) { REQUIRE(await_depth(rung(other, delay), 0)); }

    std::optional<BrokerSetting> again;
};

}  // namespace

TEST_CASE("messages on a rung come back while no daemon runs", "[own-broker]") {
    ThroughFaults s;
    s.ladder().delays = {"5s"};  // the other queue's
    s.start();
    s.await_declared();
    fill_rung(s, s.rung(s.other, "5s"), 10, s.other);
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
    s.put_on_rung(40, "8s");
    s.await_expiry("8s");
    s.work_queue("other");
    s.check_nothing_is_lost();
    s.stop();
}

TEST_CASE("a return exchange that is deleted under way: made again, what waits on shared rungs comes back",
          "[own-broker]") {
    QuickReturn s;
    s.config.ladders.clear();
    s.config.entries.clear();
    const std::string ladder = s.share({s.work, s.queue_name("oth*")}, {"8s"});
    const std::string rung = s.shared_rung(ladder, "8s");
    s.start();
    s.await_declared();
    fill_rung(s, rung, 20, s.work);
    s.client.delete_exchange("retryd.return");
    REQUIRE(s.await_depth(rung, 0));
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
    s.put_on_rung(10, "5s");
    const Alarm memory(Alarm::Cause::memory);
    const Alarm disk(Alarm::Cause::disk);
    s.work_queue("other");
    CHECK(s.await_depth(s.other, 10));
    s.check_nothing_is_lost();
    s.stop();
}
