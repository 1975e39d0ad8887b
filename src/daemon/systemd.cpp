#include "daemon/systemd.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/text.h"

namespace retryd::daemon {

namespace {

// Errors are ignored: systemd notices a notification that does not arrive by its own time-outs.
void tell(const std::string& state) {
    sd_notify(0, state.c_str());
}

std::string microseconds(core::Milliseconds time) {
    return std::to_string(std::chrono::microseconds(time).count());
}

/// The text may contain the broker's own words. systemd refuses what is not UTF-8, a line end would begin another
/// assignment, and a text that is too long would not arrive at all.
std::string status_line(std::string_view text) {
    constexpr std::size_t longest = 1'000;
    std::string line;
    while (!text.empty() && line.size() < longest) {
        const std::size_t valid = core::valid_utf8_length(text);
        line.append(text.substr(0, valid));
        if (valid < text.size()) line.push_back('?');
        text.remove_prefix(std::min(valid + 1, text.size()));
    }
    for (char& c : line) {
        if (static_cast<unsigned char>(c) < 0x20U || c == 0x7f) c = ' ';
    }
    return "STATUS=" + std::string{core::utf8_prefix(line, longest)};
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
    // The clock is CLOCK_MONOTONIC, which systemd compares with the moment at which it asked.
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
