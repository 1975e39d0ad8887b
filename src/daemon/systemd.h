// What systemd is told, where it is the one that started us (NOTIFY_SOCKET); elsewhere all of this does nothing.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"

namespace retryd::daemon {

/// Becoming ready may take so long from now on, whatever TimeoutStartSec= says.
void notify_starting(core::Milliseconds longest);
/// READY=1 with a status line: the first attempt to connect has ended, well or not; or a reload has.
void notify_ready(const std::string& status);
/// A status line alone.
void notify_status(const std::string& status);
/// A reload begins; notify_ready() ends it.
void notify_reloading();
/// The end begins, and may take so long, whatever TimeoutStopSec= says.
void notify_stopping(core::Milliseconds longest);

void notify_watchdog();
/// From now on silence is to count as a hang only after so long, whatever WatchdogSec= says.
void notify_watchdog_interval(core::Milliseconds interval);
/// How often systemd wants to hear of us (WatchdogSec=); nothing where it does not.
std::optional<core::Milliseconds> watchdog_interval();

}  // namespace retryd::daemon
