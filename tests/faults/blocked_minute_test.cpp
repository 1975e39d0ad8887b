// A broker that takes no messages for a whole minute: longer than heartbeats, pauses and confirm time-outs.
#include "faults/through_faults.h"
#include "support/alarm.h"
#include "support/machine.h"
#include "support/systemd.h"

using namespace retryd::test;

namespace {

constexpr int load = 2'000;

/// Rejects so much, and tells how long systemd did not hear of the daemon's loop meanwhile, at most.
milliseconds longest_silence(const Systemd& systemd, Worker& worker, milliseconds time) {
    milliseconds longest{0};
    Clock::time_point last = Clock::now();
    const auto listen_and_reject = [&] {
        while (systemd.heard() == "WATCHDOG=1") {
            longest = std::max(longest, since(last));
            last = Clock::now();
        }
        if (const auto message = worker.client.next(milliseconds(0))) worker.reject(*message);
        return false;
    };
    await(listen_and_reject, time, milliseconds(10));
    return std::max(longest, since(last));
}

}  // namespace

TEST_CASE("a minute of memory alarm under load: the daemon stays awake, loses nothing, and goes on by itself",
          "[own-broker][night]") {
    const Systemd systemd;
    systemd.watch_every(seconds(4));
    ThroughFaults s;
    s.start();
    s.fill_work(load);
    Alarm alarm(Alarm::Cause::memory);
    const Machine machine;
    {
        Worker worker(s.work);
        CHECK(longest_silence(systemd, worker, seconds(30)) < seconds(3) + machine.slack());
        CHECK(s.daemon.lines_with({"the broker takes no messages (low on memory)"}) == 1);
        s.daemon.reload(s.config.yaml() + "nonsense: 1\n");
        CHECK(machine.await([&] { return s.daemon.lines_with({"nonsense"}) > 0; }, seconds(2)));
        CHECK(longest_silence(systemd, worker, seconds(32)) < seconds(3) + machine.slack());
        CHECK(worker.stays_idle(milliseconds(100)));  // all rejected
    }
    const Reader reader(systemd);
    alarm.end();
    CHECK(s.daemon.await_log("the broker takes messages again"));
    s.check_nothing_is_lost();
    s.check_nothing_came_twice();
    s.check_goes_on();
    CHECK(s.reconnects() == 0);
    s.stop();
}
