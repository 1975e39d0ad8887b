// What the daemon is doing at the moment, and which faults last: written by the thread that talks to the broker, read
// by those that answer /readyz, /metrics and the status page.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "telemetry/faults.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// Thread-safe. Nothing secret goes in: the texts are those of the log.
class DaemonState {
  public:
    enum class Phase { starting, declaring, consuming, not_connected, reconnecting, stopping };

    struct Snapshot {
        Phase phase = Phase::starting;
        std::string broker;  // as the log calls it; empty before the first
        core::BrokerVersion version;
        config::Endpoint endpoint;            // while consuming
        std::optional<core::WallTime> since;  // of phase and broker
        std::string fault;                    // why it is not connected
        std::optional<std::string> blocked;   // the broker's reason for taking no messages
        std::string error_queue_silent;  // what it means that the broker does not answer for it; empty where it does
        std::string refused_reload;      // why the file is not in force; empty where it is
        std::uint64_t reconnects = 0;
        core::Milliseconds unsettled{};               // how long the oldest delivery has waited that is not settled
        std::vector<telemetry::LastingFault> faults;  // the oldest first
    };
    Snapshot snapshot() const;

    void consuming(const std::string& broker, const config::Endpoint& endpoint, const core::BrokerVersion& version);
    /// Connected, but the broker does not answer what is declared.
    void declaring(const std::string& broker);
    void disconnected(const std::string& broker, const std::string& fault, const std::string& consequence);
    /// The session ends in order, because a changed configuration takes a new connection.
    void reconnecting();
    /// The session ends in order, and no other follows.
    void stopping();
    void blocked(std::string_view reason);
    void unblocked();
    /// While consuming. `note`: what that means.
    void error_queue_silent(std::string_view note);
    void error_queue_answers();
    /// How long the oldest delivery has waited that is not settled; cheap where that is not long.
    void unsettled(core::Milliseconds age);
    /// `file` is wrong as it is now.
    void reload_refused(const std::string& file);
    void reloaded();

    /// For faults of others: they raise and clear them there.
    telemetry::Faults& faults() { return faults_; }

  private:
    void change(Phase phase, const std::string& broker, const std::string& fault);

    telemetry::Faults faults_;
    mutable std::mutex mutex_;  // of all that follows
    Snapshot state_;            // without the faults
    bool was_connected_ = false;
    bool unsettled_for_long_ = false;  // only the thread that talks to the broker
};

/// Why not ready, in plain words; empty where it is. A blocked broker is no reason: the error queue is consumed, and
/// restarting retryd over it would gain nothing.
std::string why_not_ready(const DaemonState::Snapshot& state);
/// Only while it is blocked.
std::string why_blocked(const DaemonState::Snapshot& state);
/// All of that in one line, for `systemctl status`.
std::string status_line(const DaemonState::Snapshot& state);

}  // namespace retryd::daemon
