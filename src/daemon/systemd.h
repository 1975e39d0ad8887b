// What systemd is told (sd_notify(3)). Where it did not start us there is no NOTIFY_SOCKET, and nothing here does
// anything.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"

namespace retryd::daemon {

/// Becoming ready may take as long as this from now on, whatever TimeoutStartSec= says.
void notify_starting(core::Milliseconds longest);
/// READY=1 with a status line: the first attempt to connect has succeeded or failed, or a reload is over.
void notify_ready(const std::string& status);
/// A status line alone.
void notify_status(const std::string& status);
/// A reload begins; notify_ready() says that it is over.
void notify_reloading();
/// The daemon stops, which may take as long as this, whatever TimeoutStopSec= says.
void notify_stopping(core::Milliseconds longest);

void notify_watchdog();
/// From now on silence counts as a hang only after this interval, whatever WatchdogSec= says.
void notify_watchdog_interval(core::Milliseconds interval);
/// How often systemd wants to hear of us (WatchdogSec=); nothing where it does not want to.
std::optional<core::Milliseconds> watchdog_interval();

}  // namespace retryd::daemon
