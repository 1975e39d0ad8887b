#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

#include <cstdint>

namespace retryd::daemon {
namespace {

// A notification that does not arrive is systemd's to notice.
void tell(const std::string& state) {
    sd_notify(0, state.c_str());
}

}  // namespace

void notify_ready(const std::string& status) {
    tell("READY=1\nSTATUS=" + status);
}

void notify_status(const std::string& status) {
    tell("STATUS=" + status);
}

void notify_stopping() {
    tell("STOPPING=1\nSTATUS=stopping");
}

void notify_watchdog() {
    tell("WATCHDOG=1");
}

std::optional<core::Milliseconds> watchdog_interval() {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
    return std::chrono::duration_cast<core::Milliseconds>(std::chrono::microseconds{microseconds});
}

}  // namespace retryd::daemon
