// What systemd is told.
#include "daemon/systemd.h"

#include <ctime>
#include <future>

#include "daemon/watchdog.h"
#include "support/catch.h"
#include "support/systemd.h"

namespace retryd::daemon::systemd_test {
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
    notify_starting(Milliseconds{70'000});
    CHECK(systemd.heard() == "EXTEND_TIMEOUT_USEC=70000000");
    notify_ready("connected");
    CHECK(systemd.heard() == "READY=1\nSTATUS=connected");
    notify_status("not connected: refused");
    CHECK(systemd.heard() == "STATUS=not connected: refused");
    notify_stopping(Milliseconds{15'000});
    CHECK(systemd.heard() == "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=15000000");
}

TEST_CASE("a reload is told with the moment at which it began, by the clock of systemd") {
    const Systemd systemd;
    const auto microseconds = [] {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1'000'000LL + now.tv_nsec / 1'000;
    };
    const long long before = microseconds();
    notify_reloading();
    const long long after = microseconds();
    const std::string heard = systemd.heard();
    const std::string head = "RELOADING=1\nMONOTONIC_USEC=";
    REQUIRE(heard.substr(0, head.size()) == head);
    const long long told = std::stoll(heard.substr(head.size()));
    CHECK(told >= before);
    CHECK(told <= after);
}

TEST_CASE("a status line that a broker had a hand in stays one line of UTF-8, and short enough to arrive") {
    const Systemd systemd;
    notify_status("closed:\nSTOPPING=1\x1b[2J");
    CHECK(systemd.heard() == "STATUS=closed:\\x0aSTOPPING=1\\x1b[2J");
    notify_status("caf\xc3\xa9 caf\xe9 end\xc3");
    CHECK(systemd.heard() == "STATUS=caf\xc3\xa9 caf\\xe9 end\\xc3");
    notify_status(std::string(999, 'x') + "\xc3\xa9" + std::string(5'000, 'x'));
    CHECK(systemd.heard() == "STATUS=" + std::string(999, 'x'));
}

TEST_CASE("systemd is as patient as the settings make the loop, and never less than the unit says") {
    const Systemd systemd;
    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    config::Settings settings;
    Watchdog(log, std::nullopt).allow(settings);
    CHECK(systemd.heard().empty());
    const Watchdog watchdog(log, Milliseconds{90'000});
    watchdog.allow(settings);
    CHECK(systemd.heard() == "WATCHDOG_USEC=90000000");
    settings.broker.connect_timeout = Milliseconds{60'000};
    watchdog.allow(settings);
    CHECK(systemd.heard() == "WATCHDOG_USEC=130000000");
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
    CHECK(watching.wait_for(std::chrono::seconds(60)) == std::future_status::ready);
    const test::Reader reader(systemd);
    loop.wait();
}

}  // namespace retryd::daemon::systemd_test
