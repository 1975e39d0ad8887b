// The broker is there but does not read, while a message that is larger than any socket's buffer goes out.
#include "faults/through_faults.h"
#include "support/machine.h"

using namespace retryd::test;

namespace {

/// The daemon hangs in the middle of a large publication.
struct Stalled : ThroughFaults {
    explicit Stalled(std::size_t bytes_at_a_time = 0) {
        config.heartbeat = "1s";
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

TEST_CASE("a broker that does not read while a large message goes out: TCP gives it up, and nothing is lost") {
    const Machine machine;
    Stalled s;
    CHECK(machine.await([&] { return s.daemon.lines_with({"was lost"}) > 0; }, seconds(6)));
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects() == 1);
    s.stop();
}

TEST_CASE("a broker that hardly reads while a large message goes out: the hang is cut and said, and nothing is lost") {
    // Enough at a time for the window to open, which is all that TCP asks for.
    const Machine machine;
    Stalled s(std::size_t{128} << 10);
    CHECK(machine.await([&] { return s.daemon.lines_with({"sending to the broker has hung for"}) > 0; }, seconds(6)));
    CHECK(machine.await([&] { return s.network.accepted() > 2; },
                        milliseconds(1500)));  // no other time-out was waited for
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects() == 1);
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
