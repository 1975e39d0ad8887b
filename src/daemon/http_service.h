// What the daemon shows of itself: over HTTP metrics, health, the status page; in the log what its own checks find.
// Without the section `http:` there is no server and no thread, and no messages are counted.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/time.h"
#include "daemon/checks.h"
#include "daemon/configuration.h"
#include "daemon/desk.h"
#include "daemon/held_queues.h"
#include "daemon/history.h"
#include "daemon/parked_age.h"
#include "daemon/queue_depths.h"
#include "daemon/state.h"
#include "daemon/watchdog.h"
#include "http/web_server.h"
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

    /// Serves what the configuration says. False where it cannot listen; the log says why.
    bool start();
    /// After a reload. Listens on the new address before the former one is closed; where it cannot listen on the new
    /// one, it keeps the former. Called by the thread that called start().
    void follow_reload();
    void stop();

    /// What counts messages; null where nothing is served.
    telemetry::MessageStats* stats() const { return serving_ ? serving_->stats.get() : nullptr; }
    DaemonState& state() { return state_; }

    /// To be called every second or so, by another thread than start()'s.
    void tick(core::SteadyTime now);

  private:
    /// What exists only while something is served.
    struct Serving {
        std::shared_ptr<telemetry::MessageStats> stats;
        History history;
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
    void tick_checks(const DaemonState::Snapshot& state);
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
    std::mutex mutex_;  // of the pointer `serving_`, which tick() reads in another thread
    std::unique_ptr<Serving> serving_;
    std::string depths_fault_;       // the last one that was logged; only tick() uses it
    core::WallTime newest_fault_{};  // of those that the checks have been told of; the same
};

}  // namespace retryd::daemon
