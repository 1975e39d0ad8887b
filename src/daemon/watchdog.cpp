#include "daemon/watchdog.h"

#include <sys/socket.h>

#include <algorithm>

#include "core/duration.h"
#include "daemon/systemd.h"

namespace retryd::daemon {

using core::Milliseconds;

Watchdog::Watchdog(telemetry::Log& log, std::optional<Milliseconds> interval) : log_(log), interval_(interval) {}

void Watchdog::turned(core::SteadyTime now) {
    {
        const std::lock_guard lock(mutex_);
        turned_ = now;
    }
    if (!interval_ || now - notified_ < *interval_ / 4) return;
    notified_ = now;
    notify_watchdog();  // without the mutex: it blocks if systemd does not read, and watch() must not wait for that
}

Milliseconds Watchdog::longest_wait() const {
    constexpr Milliseconds longest{1'000};
    return interval_ ? std::min(longest, *interval_ / 4) : longest;
}

Milliseconds longest_turn(const config::Settings& settings) {
    constexpr Milliseconds look_up{30'000};  // looking up a name when three name servers do not answer (resolv.conf(5))
    constexpr Milliseconds slack{10'000};    // for a busy machine
    const auto& broker = settings.broker;
    // Two connections are opened one after the other; a name that was not found is looked up again, to tell why.
    return 2 * std::max<Milliseconds>({broker.heartbeat, broker.connect_timeout, look_up}) + slack;
}

void Watchdog::allow(const config::Settings& settings) const {
    if (interval_) notify_watchdog_interval(std::max(*interval_, longest_turn(settings)));
}

std::string Watchdog::why_stuck(core::SteadyTime now, const config::Settings& settings) const {
    const Milliseconds longest = longest_turn(settings);
    const std::lock_guard lock(mutex_);
    if (now - turned_ <= longest) return "";
    return "the loop has not turned for " + core::format_duration(now - turned_) + ", which is more than the " +
           core::format_duration(longest) + " that it may wait for the broker";
}

void Watchdog::watch(core::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (!sockets_ || now - turned_ <= patience_) return;
    for (const int socket : *sockets_)
        shutdown(socket, SHUT_RDWR);
    sockets_.reset();
    log_.write(config::LogLevel::error, "connection_stuck",
               "the loop has hung for " + core::format_duration(now - turned_) +
                   ". Should it wait for the broker, the connections are cut and opened again; nothing is lost, some "
                   "messages may come twice");
}

Watchdog::Guard::Guard(Watchdog& watchdog, Sockets sockets, Milliseconds patience, core::SteadyTime now)
    : watchdog_(watchdog) {
    const std::lock_guard lock(watchdog.mutex_);
    watchdog.sockets_ = sockets;
    watchdog.patience_ = patience;
    watchdog.turned_ = now;
}

Watchdog::Guard::~Guard() {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.sockets_.reset();
}

}  // namespace retryd::daemon
