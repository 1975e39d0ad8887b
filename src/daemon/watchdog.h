// Frees the main loop from a network call that hangs, and notifies systemd's watchdog only while the loop really turns.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "config/settings.h"
#include "core/time.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// The longest time that one turn of the loop may wait for a broker with these settings.
core::Milliseconds longest_turn(const config::Settings& settings);

/// Thread-safe: the loop feeds it, another thread watches.
class Watchdog {
  public:
    using Sockets = std::array<int, 2>;

    /// `log` must outlive it. `interval` is systemd's WatchdogSec=; nothing if its watchdog is off.
    Watchdog(telemetry::Log& log, std::optional<core::Milliseconds> interval);

    /// The loop has turned, or waits as it should.
    void turned(core::SteadyTime now);
    /// Makes systemd's watchdog wait at least as long as why_stuck() does with these settings, whatever WatchdogSec=
    /// says.
    void allow(const config::Settings& settings) const;
    /// The longest wait after which the loop is still in time for systemd's watchdog.
    core::Milliseconds longest_wait() const;

    /// Why the loop counts as stuck; empty if it turns. It may wait for the broker as long as longest_turn() says.
    std::string why_stuck(core::SteadyTime now, const config::Settings& settings) const;

    /// While it exists, its sockets are shut down if the loop does not turn for longer than `patience`: the call that
    /// hangs on them fails, and the session ends as with any lost connection. The sockets must stay open that long.
    class Guard {
      public:
        Guard(Watchdog& watchdog, Sockets sockets, core::Milliseconds patience, core::SteadyTime now);
        ~Guard();
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        Watchdog& watchdog_;
    };

    /// Call about every second, from another thread than the loop's.
    void watch(core::SteadyTime now);

  private:
    telemetry::Log& log_;
    const std::optional<core::Milliseconds> interval_;
    mutable std::mutex mutex_;
    std::optional<Sockets> sockets_;
    core::Milliseconds patience_{};
    core::SteadyTime turned_{};
    core::SteadyTime notified_{};
};

}  // namespace retryd::daemon
