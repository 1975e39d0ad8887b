// The settings in force, how they are reloaded, and what a changed configuration means for the running daemon.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// One thread reloads; any number of others read.
class Configuration {
  public:
    /// `log` must outlive it.
    Configuration(std::string path, config::Settings settings, telemetry::Log& log);

    std::shared_ptr<const config::Settings> current() const;
    const std::string& path() const { return path_; }

    /// Reads the file again. True: current() returns the new settings, and the log already follows them. False: the
    /// file is wrong, its problems are in the log, and nothing has changed.
    bool reload();

    struct Reloads {
        std::uint64_t taken = 0;
        std::uint64_t refused = 0;
    };
    /// Since the start.
    Reloads reloads() const { return {taken_, refused_}; }

  private:
    const std::string path_;
    telemetry::Log& log_;
    mutable std::mutex mutex_;
    std::shared_ptr<const config::Settings> current_;
    std::atomic<std::uint64_t> taken_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
};

/// The changed keys that require a new connection; empty if the connection can stay.
std::vector<std::string_view> need_new_connection(const config::Settings& from, const config::Settings& to);

/// What the former policy leaves on the broker for the operator to remove, one sentence each; usually nothing.
std::vector<std::string> left_behind(const core::Policy& from, const core::Policy& to);

}  // namespace retryd::daemon
