#include "daemon/state.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "system/clock.h"

namespace retryd::daemon {

namespace {

constexpr const char* blocked_key = "blocked";
constexpr const char* disconnected_key = "disconnected";
constexpr const char* reload_key = "reload";

}  // namespace

DaemonState::Now DaemonState::now() const {
    const std::lock_guard lock(mutex_);
    Now now = now_;
    for (const auto& [key, fault] : faults_)
        now.faults.push_back(fault);
    std::sort(now.faults.begin(), now.faults.end(), [](const auto& a, const auto& b) { return a.since < b.since; });
    return now;
}

/// With the mutex held.
void DaemonState::change(Phase phase, const std::string& broker, const std::string& fault) {
    if (now_.phase != phase || now_.broker != broker) now_.since = system::wall_now();
    now_.phase = phase;
    now_.broker = broker;
    now_.fault = fault;
    if (phase == Phase::consuming) return;  // it may have been blocked from the first moment on
    now_.blocked.reset();
    faults_.erase(blocked_key);
}

void DaemonState::consuming(const std::string& broker, const config::Endpoint& endpoint,
                            const core::BrokerVersion& version) {
    const std::lock_guard lock(mutex_);
    change(Phase::consuming, broker, "");
    now_.endpoint = endpoint;
    now_.version = version;
    if (std::exchange(was_connected_, true)) ++now_.reconnects;
    faults_.erase(disconnected_key);
}

void DaemonState::declaring(const std::string& broker) {
    const std::lock_guard lock(mutex_);
    change(Phase::declaring, broker, "");
}

void DaemonState::disconnected(const std::string& broker, const std::string& fault, const std::string& consequence) {
    const std::lock_guard lock(mutex_);
    change(Phase::not_connected, broker, fault);
    const std::string text = "not connected to " + broker + ": " + fault + ". " + consequence;
    faults_.try_emplace(disconnected_key, telemetry::LastingFault{system::wall_now(), ""}).first->second.text = text;
}

void DaemonState::leaving(bool for_good) {
    const std::lock_guard lock(mutex_);
    change(for_good ? Phase::stopping : Phase::leaving, now_.broker, "");
}

void DaemonState::blocked(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    now_.blocked = reason;
    faults_[blocked_key] = {system::wall_now(), why_blocked(now_)};
}

void DaemonState::unblocked() {
    const std::lock_guard lock(mutex_);
    now_.blocked.reset();
    faults_.erase(blocked_key);
}

void DaemonState::reload_refused(const std::string& file) {
    const std::lock_guard lock(mutex_);
    now_.refused_reload = file +
                          " is wrong and was not reloaded: the former configuration is in force, but retryd would not "
                          "start again. `retryd check` says what is wrong";
    faults_.try_emplace(reload_key, telemetry::LastingFault{system::wall_now(), ""}).first->second.text =
        now_.refused_reload;
}

void DaemonState::reloaded() {
    const std::lock_guard lock(mutex_);
    now_.refused_reload.clear();
    faults_.erase(reload_key);
}

void DaemonState::lasts(const std::string& key, const std::string& text) {
    const std::lock_guard lock(mutex_);
    faults_.try_emplace(key, telemetry::LastingFault{system::wall_now(), ""}).first->second.text = text;
}

void DaemonState::healed(const std::string& key) {
    const std::lock_guard lock(mutex_);
    faults_.erase(key);
}

std::string why_not_ready(const DaemonState::Now& now) {
    switch (now.phase) {
        case DaemonState::Phase::consuming:
            return "";
        case DaemonState::Phase::starting:
            return "starting: not connected to a broker yet";
        case DaemonState::Phase::declaring:
            return "connected to " + now.broker + ", which does not answer what is declared: a queue without a leader?";
        case DaemonState::Phase::not_connected:
            return "not connected to " + now.broker + ": " + now.fault;
        case DaemonState::Phase::leaving:
            return "connecting anew, for a changed configuration";
        case DaemonState::Phase::stopping:
            break;
    }
    return "stopping";
}

std::string why_blocked(const DaemonState::Now& now) {
    return "the broker takes no messages (" + now.blocked.value_or("") +
           "). Retries wait and go on by themselves when its alarm is over; free memory or disk there";
}

std::string status_line(const DaemonState::Now& now) {
    std::string line = why_not_ready(now);
    if (line.empty()) line = "connected to " + now.broker;
    if (now.blocked) line += ". But " + why_blocked(now);
    if (!now.refused_reload.empty()) line += ". " + now.refused_reload;
    return line;
}

}  // namespace retryd::daemon
