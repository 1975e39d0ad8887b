// Notifications to systemd (sd_notify(3)). If systemd did not start us, there is no NOTIFY_SOCKET and these functions
// do nothing.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"

namespace retryd::daemon {

/// Allows this much time from now on until READY=1, whatever TimeoutStartSec= says.
void notify_starting(core::Milliseconds longest);
/// READY=1 with a status line: the first attempt to connect has succeeded or failed, or a reload is over.
void notify_ready(const std::string& status);
/// Only a status line.
void notify_status(const std::string& status);
/// A reload begins; notify_ready() says that it is over.
void notify_reloading();
/// The daemon is stopping; allows this much time for it, whatever TimeoutStopSec= says.
void notify_stopping(core::Milliseconds longest);

void notify_watchdog();
/// Sets systemd's watchdog interval, whatever WatchdogSec= says.
void notify_watchdog_interval(core::Milliseconds interval);
/// systemd's watchdog interval (WatchdogSec=); nothing if it is off.
std::optional<core::Milliseconds> watchdog_interval();

}  // namespace retryd::daemon
