#include "daemon/notify.h"

#include "daemon/watchdog.h"
#include "support/catch.h"
#include "support/systemd.h"

namespace retryd::daemon {
namespace {

using core::Milliseconds;
using test::Systemd;

}  // namespace

TEST_CASE("systemd is told when messages are taken, why not, and that the end has begun") {
    const Systemd systemd;
    notify_ready("connected");
    CHECK(systemd.heard() == "READY=1\nSTATUS=connected");
    notify_status("not connected: refused");
    CHECK(systemd.heard() == "STATUS=not connected: refused");
    notify_stopping();
    CHECK(systemd.heard() == "STOPPING=1\nSTATUS=stopping");
}

TEST_CASE("the interval is systemd's, and none where it does not watch") {
    const Systemd systemd;
    CHECK_FALSE(watchdog_interval());
    systemd.watch_every(std::chrono::seconds(30));
    CHECK(watchdog_interval() == Milliseconds{30'000});
}

TEST_CASE("systemd hears of a loop that turns four times an interval, and of one that does not turn never") {
    const Systemd systemd;
    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    Watchdog watchdog(log, Milliseconds{4'000});
    core::SteadyTime now{Milliseconds{1'000'000}};
    watchdog.turned(now);
    CHECK(systemd.heard() == "WATCHDOG=1");
    watchdog.turned(now + Milliseconds{999});
    CHECK(systemd.heard().empty());
    watchdog.turned(now + Milliseconds{1'000});
    CHECK(systemd.heard() == "WATCHDOG=1");
    watchdog.watch(now + Milliseconds{60'000});
    CHECK(systemd.heard().empty());
}

}  // namespace retryd::daemon
