#include "daemon/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "daemon/watchdog.h"
#include "support/catch.h"

namespace retryd::daemon {
namespace {

using core::Milliseconds;

/// systemd's end of the notification socket.
class Systemd {
  public:
    Systemd() {
        char folder[] = "/tmp/retryd-notify-XXXXXX";
        folder_ = mkdtemp(folder);
        path_ = folder_ + "/socket";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    }
    ~Systemd() {
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        close(socket_);
        unlink(path_.c_str());
        rmdir(folder_.c_str());
    }

    /// The next message, empty where there is none.
    std::string heard() const {
        char text[256];
        const ssize_t size = recv(socket_, text, sizeof text, 0);
        return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
    }

  private:
    std::string folder_;
    std::string path_;
    int socket_ = -1;
};

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
    setenv("WATCHDOG_USEC", "30000000", 1);
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
