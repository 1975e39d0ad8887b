// What the daemon shows: metrics, health and the status page over HTTP, and the findings of its checks in the log.
// Without the section `http:` there is no server and no thread, and messages are not counted.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/time.h"
#include "daemon/checks.h"
#include "daemon/configuration.h"
#include "daemon/desk.h"
#include "daemon/held_queues.h"
#include "daemon/parked_age.h"
#include "daemon/queue_depths.h"
#include "daemon/state.h"
#include "daemon/watchdog.h"
#include "http/web_server.h"
#include "telemetry/history.h"
#include "telemetry/log.h"
#include "telemetry/stats.h"

namespace retryd::daemon {

class HttpService {
  public:
    /// All of them must outlive it. Nothing is served yet.
    HttpService(const Configuration& configuration, const Watchdog& watchdog, DaemonState& state,
                PeriodicChecks& checks, telemetry::Log& log, const HeldQueues& held, const ParkedAge& age, Desk& desk);
    ~HttpService();
    HttpService(const HttpService&) = delete;
    HttpService& operator=(const HttpService&) = delete;

    /// Starts what the configuration asks for. False if it cannot listen; the log says why.
    bool start();
    /// Call after a reload. Listens on the new address before it closes the former one; if that fails, it keeps the
    /// former one. Call from the thread that called start().
    void follow_reload();
    void stop();

    /// The counters of messages; null if nothing is served.
    telemetry::MessageStats* stats() const { return serving_ ? serving_->stats.get() : nullptr; }
    DaemonState& state() { return state_; }

    /// Call about every second, from another thread than start().
    void tick(core::SteadyTime now);

  private:
    /// Exists only while something is served.
    struct Serving {
        std::shared_ptr<telemetry::MessageStats> stats;
        telemetry::History history;
        QueueDepthPoller depths;
        std::unique_ptr<http::Server> server;
        config::Http listen;  // as configured

        explicit Serving(std::shared_ptr<telemetry::MessageStats> counter) : stats(counter), depths(counter) {}
    };

    std::unique_ptr<http::Server> serve(Serving& serving, const config::Http& listen) const;
    void serve_as(const config::Http& listen);
    void move_to(const config::Http& listen);
    void configure_desk(config::Http http, bool listens_there);
    void expect_configured_queues() const;
    void report_depths_fault(const std::string& fault);
    void tick_checks(const std::shared_ptr<const config::Settings>& settings, const DaemonState::Snapshot& state,
                     core::SteadyTime now);
    void report(const PeriodicChecks::News& news);

    http::Reply metrics(const Serving& serving) const;
    http::Reply status(const Serving& serving) const;
    static http::Reply history(const Serving& serving);
    http::Reply health() const;
    http::Reply readiness() const;

    const Configuration& configuration_;
    const Watchdog& watchdog_;
    DaemonState& state_;
    PeriodicChecks& checks_;
    telemetry::Log& log_;
    const HeldQueues& held_;
    const ParkedAge& age_;
    Desk& desk_;
    const core::WallTime started_;
    std::mutex mutex_;  // guards the pointer `serving_`, which tick() reads in another thread
    std::unique_ptr<Serving> serving_;
    std::string depths_fault_;                         // the last one that was logged; only tick() uses it
    std::optional<core::SteadyTime> declaring_since_;  // as far as tick() has seen, which alone uses it
    core::WallTime newest_fault_{};                    // the newest fault that the checks know of; only tick() uses it
};

}  // namespace retryd::daemon
