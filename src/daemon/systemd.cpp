#include "daemon/systemd.h"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <cstdint>

#include "core/safe_text.h"
#include "core/text.h"

namespace retryd::daemon {

namespace {

// Errors are ignored: systemd has time-outs for notifications that do not arrive.
void tell(const std::string& state) {
    sd_notify(0, state.c_str());
}

std::string microseconds(core::Milliseconds time) {
    return std::to_string(std::chrono::microseconds(time).count());
}

/// A line end would start another assignment, systemd rejects text that is not UTF-8, and one that is too long would
/// not arrive at all.
std::string status_line(std::string_view text) {
    constexpr std::size_t longest = 1'000;
    return "STATUS=" + std::string{core::utf8_prefix(core::safe_line(text), longest)};
}

}  // namespace

void notify_starting(core::Milliseconds longest) {
    tell("EXTEND_TIMEOUT_USEC=" + microseconds(longest));
}

void notify_ready(const std::string& status) {
    tell("READY=1\n" + status_line(status));
}

void notify_status(const std::string& status) {
    tell(status_line(status));
}

void notify_reloading() {
    // This clock is CLOCK_MONOTONIC; systemd compares the time with the one at which it asked for the reload.
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    tell("RELOADING=1\nMONOTONIC_USEC=" +
         std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
}

void notify_stopping(core::Milliseconds longest) {
    tell("STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=" + microseconds(longest));
}

void notify_watchdog() {
    tell("WATCHDOG=1");
}

void notify_watchdog_interval(core::Milliseconds interval) {
    tell("WATCHDOG_USEC=" + microseconds(interval));
}

std::optional<core::Milliseconds> watchdog_interval() {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
    return std::chrono::duration_cast<core::Milliseconds>(std::chrono::microseconds{microseconds});
}

}  // namespace retryd::daemon
