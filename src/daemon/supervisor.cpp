#include "daemon/supervisor.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "config/addresses.h"
#include "core/duration.h"
#include "daemon/session.h"
#include "daemon/systemd.h"
#include "system/clock.h"

namespace retryd::daemon {

core::Milliseconds Backoff::next(double roll) {
    const core::Milliseconds full = next_;
    next_ = std::min(next_ * 2, settings_.max);
    const core::Milliseconds half = full / 2;
    return half +
           core::Milliseconds{static_cast<core::Milliseconds::rep>(roll * static_cast<double>((full - half).count()))};
}

bool ReportedFaults::is_news(const std::string& broker, const std::string& fault) {
    std::string& last = last_[broker];
    if (last == fault) return false;
    last = fault;
    return true;
}

namespace {

using config::LogLevel;

void log_fault(telemetry::Log& log, LogLevel level, const std::string& broker, const amqp::Error& error,
               core::Milliseconds wait) {
    const bool next_at_once = wait == core::Milliseconds::zero();
    const std::string next = next_at_once ? "trying the next broker" : "trying again in " + core::format_duration(wait);
    log.write(level, "disconnected",
              broker + ": " + error.what() + ". " + amqp::consequence(error.kind()) + "; " + next + "; " +
                  amqp::remedy(error.kind()),
              {{"broker", broker}, {"cause", error.what()}, {"retry_in_ms", wait.count()}});
}

std::string name_of(const config::Endpoint& endpoint) {
    return config::host_and_port(endpoint.host, endpoint.port) + ", vhost '" + endpoint.vhost + "'";
}

/// The brokers of one configuration, in turn, until it is replaced or a stop is requested.
class ReconnectLoop {
  public:
    explicit ReconnectLoop(const SessionContext& context)
        : context_(context), settings_(context.configuration.current()), backoff_(settings_->broker.reconnect) {}

    void run();

  private:
    bool over() const { return context_.requests.stopping() || context_.configuration.current() != settings_; }
    void try_one(const config::Endpoint& endpoint, bool last_of_list);
    void after_fault(const config::Endpoint& endpoint, const amqp::Error& error, bool lasted, bool last_of_list);
    void wait(core::Milliseconds time) const;

    const SessionContext& context_;
    const std::shared_ptr<const config::Settings> settings_;
    Backoff backoff_;
    ReportedFaults faults_;
};

void ReconnectLoop::run() {
    const auto& endpoints = settings_->broker.endpoints;
    for (std::size_t turn = 0; !over(); turn = (turn + 1) % endpoints.size())
        try_one(endpoints[turn], turn + 1 == endpoints.size());
}

void ReconnectLoop::try_one(const config::Endpoint& endpoint, bool last_of_list) {
    const core::SteadyTime begin = system::steady_now();
    context_.watchdog.turned(begin);
    try {
        Session(context_, endpoint, name_of(endpoint)).run();
    } catch (const amqp::Error& error) {
        const bool lasted = system::steady_now() - begin > settings_->broker.reconnect.max;
        after_fault(endpoint, error, lasted, last_of_list);
    }
}

void ReconnectLoop::after_fault(const config::Endpoint& endpoint, const amqp::Error& error, bool lasted,
                                bool last_of_list) {
    // A session that breaks at once does not reset the back-off: else it would be opened in a tight loop.
    if (lasted) {
        backoff_.reset();
        faults_.healed();
    }
    // Another broker of the list is tried at once; only when all of them have failed there is a wait.
    const core::Milliseconds time = last_of_list ? backoff_.next(context_.dice()) : core::Milliseconds::zero();
    const std::string broker = name_of(endpoint);
    log_fault(context_.log, faults_.is_news(broker, error.what()) ? LogLevel::error : LogLevel::debug, broker, error,
              time);
    context_.http.state().disconnected(broker, error.what(), amqp::consequence(error.kind()));
    notify_ready(status_line(context_.http.state().snapshot()));
    wait(time);
}

/// A reload ends the wait: the changed configuration may be what the connection needs.
void ReconnectLoop::wait(core::Milliseconds time) const {
    const core::SteadyTime until = system::steady_now() + time;
    for (auto left = time; left > core::Milliseconds::zero();) {
        context_.watchdog.turned(system::steady_now());
        const bool asked = context_.requests.wait(std::min(left, context_.watchdog.longest_wait()));
        if (context_.requests.stopping()) return;
        if (asked && context_.requests.take_reload() && reload(context_)) {
            context_.log.write(LogLevel::info, "reloaded",
                               "reloaded " + context_.configuration.path() + ": connecting with it now",
                               {{"file", context_.configuration.path()}});
            return;
        }
        left = until - system::steady_now();
    }
}

}  // namespace

void supervise(const SessionContext& context) {
    while (!context.requests.stopping())
        ReconnectLoop(context).run();
}

}  // namespace retryd::daemon
