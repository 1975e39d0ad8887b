// What the daemon is doing now, and which faults last. Written by the thread that talks to the broker, read by those
// that answer /readyz, /metrics and the status page.
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

/// Thread-safe. Holds no secrets: the texts are those of the log.
class DaemonState {
  public:
    enum class Phase { starting, declaring, consuming, not_connected, reconnecting, stopping };

    struct Snapshot {
        Phase phase = Phase::starting;
        std::string broker;                        // its name in the log; empty before the first one
        std::optional<config::Endpoint> endpoint;  // of that broker, once it has been tried
        core::BrokerVersion version;               // of the broker that was consumed from last; 0.0.0 if none was
        config::Endpoint version_of;               // that broker
        std::optional<core::WallTime> since;       // since when phase and broker are the same
        std::string fault;                         // why it is not connected
        std::optional<std::string> blocked;        // the broker's reason for taking no messages
        std::string error_queue_silent;     // what it means that the error queue does not answer; empty if it does
        std::string refused_reload;         // why the file is not in force; empty if it is
        bool declaring_in_advance = false;  // what a session or a reload declares may not be there yet
        std::uint64_t reconnects = 0;
        core::Milliseconds unsettled{};               // how long the oldest unsettled delivery has waited
        std::vector<telemetry::LastingFault> faults;  // the oldest first
    };
    Snapshot snapshot() const;

    void consuming(const std::string& broker, const config::Endpoint& endpoint, const core::BrokerVersion& version);
    /// Connected, but the broker does not answer a declare.
    void declaring(const std::string& broker, const config::Endpoint& endpoint);
    /// Whether what is declared before any message comes is still under way.
    void declaring_in_advance(bool under_way);
    void disconnected(const std::string& broker, const config::Endpoint& endpoint, const std::string& fault,
                      const std::string& consequence);
    /// The session ends, because the changed configuration requires a new connection.
    void reconnecting();
    /// The session ends, and no other one follows.
    void stopping();
    void blocked(std::string_view reason);
    void unblocked();
    /// Call only while consuming. `note`: what that means.
    void error_queue_silent(std::string_view note);
    void error_queue_answers();
    /// How long the oldest unsettled delivery has waited; cheap while that is short.
    void unsettled(core::Milliseconds age);
    /// A reload failed: `file` is wrong.
    void reload_refused(const std::string& file);
    void reloaded();

    /// Where other parts raise and clear their faults.
    telemetry::Faults& faults() { return faults_; }

  private:
    void change(Phase phase, const std::string& broker, const std::string& fault);

    telemetry::Faults faults_;
    mutable std::mutex mutex_;  // guards all that follows
    Snapshot state_;            // without the faults
    bool was_connected_ = false;
    bool unsettled_for_long_ = false;  // used only by the thread that talks to the broker
};

/// Why the daemon is not ready, in plain words; empty if it is. A blocked broker does not count: the error queue is
/// consumed, and restarting retryd would gain nothing.
std::string why_not_ready(const DaemonState::Snapshot& state);
/// Empty if it is not blocked.
std::string why_blocked(const DaemonState::Snapshot& state);
/// The state in one line, for `systemctl status`.
std::string status_line(const DaemonState::Snapshot& state);

}  // namespace retryd::daemon
