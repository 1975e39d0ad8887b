// What systemd is told, where it is the one that started us (NOTIFY_SOCKET); elsewhere all of this does nothing.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"

namespace retryd::daemon {

/// READY=1 with a status line: messages are taken.
void notify_ready(const std::string& status);
/// A status line alone, such as why no messages are taken.
void notify_status(const std::string& status);
void notify_stopping();
void notify_watchdog();

/// How often systemd wants to hear of us (WatchdogSec=); nothing where it does not.
std::optional<core::Milliseconds> watchdog_interval();

}  // namespace retryd::daemon
