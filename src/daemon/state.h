// How the daemon stands with its broker, and which faults last: told by the thread that runs it, read by others.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// Thread-safe. Nothing secret goes in: the texts are those of the log.
class DaemonState {
  public:
    enum class Phase { starting, declaring, consuming, not_connected, leaving, stopping };

    struct Now {
        Phase phase = Phase::starting;
        std::string broker;  // as the log calls it; empty before the first
        core::BrokerVersion version;
        config::Endpoint endpoint;  // while consuming
        std::optional<core::WallTime> since;
        std::string fault;  // why it is not connected
        std::optional<std::string> blocked;
        std::string refused_reload;  // why the file is not in force; empty where it is
        std::uint64_t reconnects = 0;
        std::vector<telemetry::LastingFault> faults;  // the oldest first
    };
    Now now() const;

    void consuming(const std::string& broker, const config::Endpoint& endpoint, const core::BrokerVersion& version);
    /// Connected, but the broker keeps its answers to itself.
    void declaring(const std::string& broker);
    void disconnected(const std::string& broker, const std::string& fault, const std::string& consequence);
    /// The session is left in order: for good, or for another one.
    void leaving(bool for_good);
    void blocked(std::string_view reason);
    void unblocked();
    /// `file` is wrong as it is now.
    void reload_refused(const std::string& file);
    void reloaded();

    /// A fault that lasts until it has healed; `key` tells it from others.
    void lasts(const std::string& key, const std::string& text);
    void healed(const std::string& key);

  private:
    void change(Phase phase, const std::string& broker, const std::string& fault);

    mutable std::mutex mutex_;
    Now now_;
    std::map<std::string, telemetry::LastingFault> faults_;
    bool was_connected_ = false;
};

/// Why not ready, in plain words; empty where it is. A blocked broker is no reason: the error queue is consumed, and
/// nothing is won where something restarts retryd over it.
std::string why_not_ready(const DaemonState::Now& now);
/// While it is blocked.
std::string why_blocked(const DaemonState::Now& now);
/// All of that in one line, for `systemctl status`.
std::string status_line(const DaemonState::Now& now);

}  // namespace retryd::daemon
