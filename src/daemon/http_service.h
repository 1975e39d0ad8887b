// What others may see of the daemon over HTTP: metrics, health, the status page. Without `http:` there is no server, no
// thread and nothing is counted.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/time.h"
#include "daemon/configuration.h"
#include "daemon/history.h"
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
    HttpService(const Configuration& configuration, const Watchdog& watchdog, DaemonState& state, telemetry::Log& log);
    ~HttpService();
    HttpService(const HttpService&) = delete;
    HttpService& operator=(const HttpService&) = delete;

    /// Serves as the configuration says. False where that cannot be, which is in the log.
    bool start();
    /// After a reload: the new address first, then without the old one; where the new one cannot be had the old one
    /// stays. By the thread that started it.
    void follow();
    /// Nothing is served any more.
    void stop();

    /// What counts messages; null where nobody asks.
    telemetry::MessageStats* stats() const { return serving_ ? serving_->stats.get() : nullptr; }
    DaemonState& state() { return state_; }

    /// To be called every second or so, by another thread.
    void look(core::SteadyTime now);

  private:
    /// All that there is only while something is served.
    struct Serving {
        std::shared_ptr<telemetry::MessageStats> stats;
        History history;
        QueueDepthPoller depths;
        std::unique_ptr<http::Server> server;
        config::Http listen;  // as configured

        explicit Serving(std::shared_ptr<telemetry::MessageStats> counted) : stats(counted), depths(counted) {}
    };

    std::unique_ptr<http::Server> serve(Serving& serving, const config::Http& listen) const;
    void move_to(const config::Http& listen);
    void expect_queues() const;
    void tell_of_depths(const QueueDepthPoller::Seen& seen);

    http::Reply metrics(const Serving& serving) const;
    http::Reply status(const Serving& serving) const;
    http::Reply health() const;
    http::Reply readiness() const;

    const Configuration& configuration_;
    const Watchdog& watchdog_;
    DaemonState& state_;
    telemetry::Log& log_;
    const core::WallTime started_;
    mutable std::mutex mutex_;  // of the pointer: look() comes from another thread
    std::unique_ptr<Serving> serving_;
    std::string depths_fault_;  // said already
};

}  // namespace retryd::daemon
