#include <chrono>
#include <string>
#include <variant>

#include "commands/doctor/checkup.h"
#include "core/duration.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using admin::FindingCode;

constexpr core::Milliseconds largest_clock_difference{60'000};

void check_clock(Checkup& checkup, core::Milliseconds ahead, const std::string& other) {
    if (std::chrono::abs(ahead) <= largest_clock_difference) return;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::abs(ahead));
    checkup.add(FindingCode::daemon_clock,
                "the daemon's clock is " + core::format_duration(seconds) +
                    (ahead > core::Milliseconds::zero() ? " ahead of " : " behind ") + other,
                {});
}

void add_daemon_faults(Checkup& checkup, const telemetry::Status& daemon) {
    if (!daemon.ready) checkup.add(FindingCode::daemon_not_ready, "the daemon is not ready: " + daemon.reason, {});
    for (const telemetry::LastingFault& fault : daemon.faults) {
        const bool is_reason = fault.code == "disconnected" || fault.text == daemon.reason;
        if (is_reason && !daemon.ready) continue;
        if (fault.code == "blocked" && checkup.has_found(FindingCode::broker_alarm)) continue;
        if (fault.code == "reload") {
            checkup.add(FindingCode::reload_refused, fault.text, {});
        } else {
            checkup.add(FindingCode::daemon_fault, "the daemon tells: " + fault.text, {.group = fault.text});
        }
    }
}

}  // namespace

void check_daemon(Checkup& checkup) {
    if (checkup.daemon != nullptr) {
        if (checkup.daemon_ahead) check_clock(checkup, *checkup.daemon_ahead, "this machine's");
        add_daemon_faults(checkup, *checkup.daemon);
    } else if (checkup.daemon_answer != nullptr) {
        checkup.cannot_tell("whether the daemon is well: " + std::get<std::string>(*checkup.daemon_answer));
    }
}

void check_clock_against_broker(Checkup& checkup) {
    if (!checkup.daemon_ahead) return;
    const auto clock = checkup.management->clock();
    if (clock) check_clock(checkup, *checkup.daemon_ahead + (system::wall_now() - *clock), "the broker's");
}

}  // namespace retryd::commands
