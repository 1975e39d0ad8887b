// The broker goes and comes back, with messages everywhere on their way.
#include <csignal>

#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

/// Connections do not live through it, those of the test included.
struct Restarted : ThroughFaults {
    /// Some wait on a rung, some in the error queue, some on detours, and of some the confirm has not come yet.
    void put_messages_everywhere() {
        config.prefetch = 50;
        ladder().delays = {"5s"};  // the other queue's
        start_in_use();
        for (int i = 0; i < 20; ++i)
            reject("other" + std::to_string(i), other);
        client.await_confirms();
        // Confirmed, too: an unconfirmed one would take a place of the prefetch.
        REQUIRE(await([&] { return daemon.lines_with({"retrying a message from '" + other}) >= 20; }));
        const auto missing = network.on(every(confirm()), fault::swallow());
        reject_many(100);
        REQUIRE(await([&] { return depth(work) >= under_way_at_least; }));
        REQUIRE(network.await_matched(missing));
    }

    void check_all_come_back() {
        Worker worker(work, 500);
        worker.client.consume(other, 500);
        while (!all_seen()) {
            INFO(missing() << "are not back");
            const Received returned = worker.receive(return_after_restart);
            worker.ack(returned);
            ++copies[returned.properties.message_id.value_or("(no id)")];
        }
        Client fresh(broker_address());
        CHECK(await([&] { return fresh.look_at(config.error_queue)->messages == 0; }));
        CHECK(fresh.look_at(config.catch_all)->messages == 0);
    }
};

}  // namespace

TEST_CASE("a restart of the broker with messages everywhere: from rungs, error queue and flight all come back",
          "[own-broker][night]") {
    Restarted s;
    s.put_messages_everywhere();
    s.network.heal();  // what was swallowed does not come any more
    SECTION("in order") {
        control_broker("restart");
    }
    SECTION("after a crash") {
        if (!s.has_quorum_ttl()) return;  // 3.8.9 finds no leader for its new quorum queues any more
        control_broker("kill");
        control_broker("start");
    }
    s.check_all_come_back();
    s.stop();
}

TEST_CASE("the broker is restarted while the daemon is stopping: the end comes in time, and nothing is lost",
          "[own-broker][night]") {
    Restarted s;
    s.config.shutdown_timeout = "30s";
    s.put_messages_everywhere();
    s.daemon.signal(SIGTERM);
    REQUIRE(s.daemon.await_log("stopping: waiting for"));
    control_broker("restart");
    CHECK(s.daemon.wait(patience) == 0);
    s.network.heal();
    s.daemon.start(s.config.yaml());
    s.check_all_come_back();
    s.stop();
}
