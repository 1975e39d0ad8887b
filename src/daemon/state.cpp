#include "daemon/state.h"

#include <chrono>
#include <utility>

#include "core/duration.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

constexpr const char* blocked_fault = "blocked";
constexpr const char* disconnected_fault = "disconnected";
constexpr const char* reload_fault = "reload";
constexpr const char* error_queue_fault = "error queue";

}  // namespace

DaemonState::Snapshot DaemonState::snapshot() const {
    const std::lock_guard lock(mutex_);
    Snapshot snapshot = state_;
    snapshot.faults = faults_.all();
    return snapshot;
}

/// Call with the mutex held.
void DaemonState::change(Phase phase, const std::string& broker, const std::string& fault) {
    if (state_.phase != phase || state_.broker != broker) state_.since = system::wall_now();
    state_.phase = phase;
    state_.broker = broker;
    state_.fault = fault;
    state_.error_queue_silent.clear();
    faults_.clear(error_queue_fault);
    if (phase == Phase::consuming) return;  // it may have been blocked from the start
    state_.blocked.reset();
    faults_.clear(blocked_fault);
}

void DaemonState::consuming(const std::string& broker, const config::Endpoint& endpoint,
                            const core::BrokerVersion& version) {
    const std::lock_guard lock(mutex_);
    change(Phase::consuming, broker, "");
    state_.endpoint = endpoint;
    state_.version = version;
    state_.version_of = endpoint;
    if (std::exchange(was_connected_, true)) ++state_.reconnects;
    faults_.clear(disconnected_fault);
}

void DaemonState::declaring(const std::string& broker, const config::Endpoint& endpoint) {
    const std::lock_guard lock(mutex_);
    change(Phase::declaring, broker, "");
    state_.endpoint = endpoint;
}

void DaemonState::declaring_in_advance(bool under_way) {
    const std::lock_guard lock(mutex_);
    state_.declaring_in_advance = under_way;
}

void DaemonState::disconnected(const std::string& broker, const config::Endpoint& endpoint, const std::string& fault,
                               const std::string& consequence) {
    const std::lock_guard lock(mutex_);
    change(Phase::not_connected, broker, fault);
    state_.endpoint = endpoint;
    faults_.raise(disconnected_fault, "not connected to " + broker + ": " + fault + ". " + consequence);
}

void DaemonState::reconnecting() {
    const std::lock_guard lock(mutex_);
    change(Phase::reconnecting, state_.broker, "");
}

void DaemonState::stopping() {
    const std::lock_guard lock(mutex_);
    change(Phase::stopping, state_.broker, "");
}

void DaemonState::blocked(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    state_.blocked = reason;
    faults_.raise(blocked_fault, why_blocked(state_));
}

void DaemonState::unblocked() {
    const std::lock_guard lock(mutex_);
    state_.blocked.reset();
    faults_.clear(blocked_fault);
}

void DaemonState::error_queue_silent(std::string_view note) {
    const std::lock_guard lock(mutex_);
    state_.error_queue_silent = note;
    faults_.raise(error_queue_fault, state_.error_queue_silent);
}

void DaemonState::error_queue_answers() {
    const std::lock_guard lock(mutex_);
    state_.error_queue_silent.clear();
    faults_.clear(error_queue_fault);
}

void DaemonState::unsettled(core::Milliseconds age) {
    const bool long_ago = age > telemetry::longest_unsettled;
    if (!long_ago && !unsettled_for_long_) return;
    unsettled_for_long_ = long_ago;
    const std::lock_guard lock(mutex_);
    state_.unsettled = long_ago ? age : core::Milliseconds::zero();
}

void DaemonState::reload_refused(const std::string& file) {
    const std::lock_guard lock(mutex_);
    state_.refused_reload =
        file +
        " is wrong and was not reloaded: the former configuration is in force, but retryd would not "
        "start again. `retryd check` says what is wrong";
    faults_.raise(reload_fault, state_.refused_reload);
}

void DaemonState::reloaded() {
    const std::lock_guard lock(mutex_);
    state_.refused_reload.clear();
    faults_.clear(reload_fault);
}

namespace {

std::string why_unsettled(const DaemonState::Snapshot& state) {
    if (state.unsettled == core::Milliseconds::zero()) return "";
    const auto seconds = std::chrono::floor<std::chrono::seconds>(state.unsettled);
    return "a message has waited for " + core::format_duration(seconds) +
           " to be settled: the broker does not answer what was published, or takes nothing. The log says which queue";
}

}  // namespace

std::string why_not_ready(const DaemonState::Snapshot& state) {
    switch (state.phase) {
        case DaemonState::Phase::consuming:
            if (!state.error_queue_silent.empty()) return state.error_queue_silent;
            return state.blocked ? "" : why_unsettled(state);
        case DaemonState::Phase::starting:
            return "starting: not connected to a broker yet";
        case DaemonState::Phase::declaring:
            return "connected to " + state.broker +
                   ", which has not answered yet what is declared: it is busy, or a queue has no leader";
        case DaemonState::Phase::not_connected:
            return "not connected to " + state.broker + ": " + state.fault;
        case DaemonState::Phase::reconnecting:
            return "reconnecting, for a changed configuration";
        case DaemonState::Phase::stopping:
            break;
    }
    return "stopping";
}

std::string why_blocked(const DaemonState::Snapshot& state) {
    return "the broker takes no messages (" + state.blocked.value_or("") +
           "). Retries wait and go on by themselves when its alarm is over; free memory or disk there";
}

std::string status_line(const DaemonState::Snapshot& state) {
    std::string line = why_not_ready(state);
    if (line.empty()) line = "connected to " + state.broker;
    if (state.blocked) line += ". But " + why_blocked(state);
    if (!state.refused_reload.empty()) line += ". " + state.refused_reload;
    return line;
}

}  // namespace retryd::daemon
