// The broker is there but does not read, while a message that is larger than any socket's buffer goes out.
#include "faults/through_faults.h"
#include "support/machine.h"

using namespace retryd::test;

namespace {

/// The daemon hangs in the middle of a large publication.
struct Stalled : ThroughFaults {
    explicit Stalled(std::size_t bytes_at_a_time = 0) {
        config.heartbeat = "2s";
        config.shutdown_timeout = "2s";
        start();
        const auto stopped = network.on(publication_with("LARGE"), fault::stop_reading(bytes_at_a_time));
        reject("large", work, "LARGE" + std::string(std::size_t{8} << 20, '.'));
        client.await_confirms();
        REQUIRE(network.await_matched(stopped));
        reject_many(20);
    }
};

}  // namespace

TEST_CASE("a broker that reads nothing, and does not say so, is given up after a minute; the loop turns all the time",
          "[slow][night]") {
    const Machine machine;
    Stalled s;
    const Clock::time_point start = Clock::now();
    for (int i = 1; since(start) < seconds(50); ++i) {
        s.daemon.reload(s.config.yaml() + "nonsense: 1\n");
        REQUIRE(machine.await([&] { return s.daemon.lines_with({"nonsense: unknown key"}) == i; }, seconds(2)));
        await([] { return false; }, seconds(1));
    }
    CHECK(s.daemon.lines_with({"was lost"}) == 0);
    CHECK(s.network.accepted() == 2);
    CHECK(machine.await([&] { return s.daemon.lines_with({"has taken nothing of what is being sent to it"}) > 0; },
                        seconds(40)));
    s.check_nothing_is_lost();
    CHECK(s.parked.empty());
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(1));
    s.stop();
}

TEST_CASE("a broker that hardly reads while a large message goes out is waited for as long as it reads at all") {
    // 8 MiB at 128 KiB every 300 ms take 20 s: five times two heartbeats.
    Stalled s(std::size_t{128} << 10);
    CHECK_FALSE(
        await([&] { return s.daemon.lines_with({"was lost"}) + s.daemon.lines_with({"has hung"}) > 0; }, seconds(15)));
    CHECK(s.network.accepted() == 2);
    s.network.heal();  // ends what is deaf
    s.check_nothing_is_lost();
    CHECK(s.parked.empty());
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(1));
    s.stop();
}

TEST_CASE("SIGTERM while sending hangs ends the daemon within its shutdown time-out, and nothing is lost") {
    Stalled s;
    const Machine machine;
    const Clock::time_point start = Clock::now();
    REQUIRE(s.daemon.terminate().has_value());
    CHECK(since(start) < milliseconds(2000 + 1000) + machine.slack());
    s.network.heal();
    s.start();
    s.check_nothing_is_lost();
    s.stop();
}
