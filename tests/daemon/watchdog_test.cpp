// A loop that hangs: it is freed, and systemd does not hear of it.
#include "daemon/watchdog.h"

#include <sys/socket.h>
#include <unistd.h>

#include "support/catch.h"

namespace retryd::daemon::watchdog_test {
namespace {

using core::Milliseconds;

/// A loop with two connections, and a clock that the test moves.
struct Scene {
    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    Watchdog watchdog{log, std::nullopt};
    int near[2] = {-1, -1};
    int far[2] = {-1, -1};
    core::SteadyTime now{Milliseconds{1'000'000}};

    Scene() {
        for (int i = 0; i < 2; ++i) {
            int pair[2];
            REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
            near[i] = pair[0];
            far[i] = pair[1];
        }
    }
    ~Scene() {
        for (int i = 0; i < 2; ++i) {
            close(near[i]);
            close(far[i]);
        }
    }
    Watchdog::Guard guard() { return {watchdog, {near[0], near[1]}, Milliseconds{2'000}, now}; }

    bool cut(int i) const {
        char byte = 0;
        return recv(far[i], &byte, 1, 0) == 0;
    }
};

}  // namespace

TEST_CASE("the sockets of a loop that does not turn for longer than its patience are shut down") {
    Scene s;
    const auto guard = s.guard();
    s.now += Milliseconds{2'000};
    s.watchdog.watch(s.now);
    CHECK_FALSE(s.cut(0));
    s.now += Milliseconds{1};
    s.watchdog.watch(s.now);
    CHECK(s.cut(0));
    CHECK(s.cut(1));
}

TEST_CASE("a loop that turns keeps its sockets") {
    Scene s;
    const auto guard = s.guard();
    for (int i = 0; i < 5; ++i) {
        s.now += Milliseconds{1'999};
        s.watchdog.watch(s.now);
        s.watchdog.turned(s.now);
    }
    CHECK_FALSE(s.cut(0));
}

TEST_CASE("what was guarded once is not touched later: the numbers may be other files by then") {
    Scene s;
    { const auto guard = s.guard(); }
    s.now += Milliseconds{60'000};
    s.watchdog.watch(s.now);
    CHECK_FALSE(s.cut(0));
}

TEST_CASE("the time before a connection was there does not count against it") {
    Scene s;
    s.watchdog.turned(s.now);
    s.now += Milliseconds{60'000};  // connecting
    const auto guard = s.guard();
    s.watchdog.watch(s.now + Milliseconds{1'000});
    CHECK_FALSE(s.cut(0));
}

TEST_CASE("a loop that does not turn for longer than it may wait for the broker is told to be stuck") {
    Scene s;
    config::Settings settings;  // heartbeat 20s, connect_timeout 10s
    s.watchdog.turned(s.now);
    s.now += Milliseconds{70'000};
    CHECK(s.watchdog.why_stuck(s.now, settings).empty());
    s.now += Milliseconds{1};
    CHECK(s.watchdog.why_stuck(s.now, settings) ==
          "the loop has not turned for 1m10s1ms, which is more than the 1m10s that it may wait for the broker");
    s.watchdog.turned(s.now);
    CHECK(s.watchdog.why_stuck(s.now, settings).empty());
}

TEST_CASE(
    "one turn may take as long as two connections do: their heartbeats, time-outs or names, whichever is slowest") {
    config::Settings settings;
    CHECK(longest_turn(settings) == Milliseconds{70'000});
    settings.broker.heartbeat = std::chrono::seconds(45);
    CHECK(longest_turn(settings) == Milliseconds{100'000});
    settings.broker.connect_timeout = Milliseconds{50'000};
    CHECK(longest_turn(settings) == Milliseconds{110'000});
}

TEST_CASE("the loop waits no longer than systemd's interval allows") {
    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    CHECK(Watchdog(log, std::nullopt).longest_wait() == Milliseconds{1'000});
    CHECK(Watchdog(log, Milliseconds{400}).longest_wait() == Milliseconds{100});
    CHECK(Watchdog(log, Milliseconds{60'000}).longest_wait() == Milliseconds{1'000});
}

}  // namespace retryd::daemon::watchdog_test
