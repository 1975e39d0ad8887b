#include "daemon/notify.h"

#include <future>

#include "daemon/watchdog.h"
#include "support/catch.h"
#include "support/systemd.h"

namespace retryd::daemon {
namespace {

using core::Milliseconds;
using test::Systemd;

/// Until there is no room for more.
void fill(const Systemd& systemd) {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    getsockname(systemd.fd(), reinterpret_cast<sockaddr*>(&address), &size);
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    while (sendto(sender, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), size) == 1) {
    }
    close(sender);
}

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

TEST_CASE("a loop that waits for a systemd which does not listen keeps nobody from watching it") {
    const Systemd systemd;
    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    Watchdog watchdog(log, Milliseconds{4'000});
    const core::SteadyTime now{Milliseconds{1'000'000}};
    fill(systemd);
    std::promise<void> turning;
    const auto loop = std::async(std::launch::async, [&] {
        turning.set_value();
        watchdog.turned(now);
    });
    turning.get_future().wait();
    CHECK(loop.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout);
    const auto watching = std::async(std::launch::async, [&] { watchdog.watch(now); });
    CHECK(watching.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
    const test::Reader reader(systemd);
    loop.wait();
}

}  // namespace retryd::daemon
