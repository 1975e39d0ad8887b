#include "daemon/supervisor.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "config/addresses.h"
#include "core/duration.h"
#include "daemon/session.h"
#include "daemon/systemd.h"
#include "system/clock.h"

namespace retryd::daemon {

core::Milliseconds Backoff::next(double dice) {
    const core::Milliseconds full = next_;
    next_ = std::min(next_ * 2, settings_.max);
    const core::Milliseconds half = full / 2;
    return half +
           core::Milliseconds{static_cast<core::Milliseconds::rep>(dice * static_cast<double>((full - half).count()))};
}

bool ReportedFaults::is_news(const std::string& broker, const std::string& fault) {
    std::string& last = last_[broker];
    if (last == fault) return false;
    last = fault;
    return true;
}

namespace {

using config::LogLevel;

void say(telemetry::Log& log, LogLevel level, const std::string& broker, const amqp::Error& error,
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

}  // namespace

namespace {

/// The brokers of one configuration, in turn, until it is replaced or a stop is requested.
class ReconnectLoop {
  public:
    explicit ReconnectLoop(const SessionContext& context)
        : context_(context), settings_(context.configuration.current()), backoff_(settings_->broker.reconnect) {}

    void run();

  private:
    bool over() const { return context_.requests.stopping() || context_.configuration.current() != settings_; }
    void try_one(const config::Endpoint& endpoint, bool round_over);
    void after_fault(const config::Endpoint& endpoint, const amqp::Error& error, bool lasted, bool round_over);
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

void ReconnectLoop::try_one(const config::Endpoint& endpoint, bool round_over) {
    const auto begin = std::chrono::steady_clock::now();
    context_.watchdog.turned(std::chrono::time_point_cast<core::Milliseconds>(begin));
    try {
        Session(context_, endpoint, name_of(endpoint)).run();
    } catch (const amqp::Error& error) {
        const bool lasted = std::chrono::steady_clock::now() - begin > settings_->broker.reconnect.max;
        after_fault(endpoint, error, lasted, round_over);
    }
}

void ReconnectLoop::after_fault(const config::Endpoint& endpoint, const amqp::Error& error, bool lasted,
                                bool round_over) {
    // Only a session that lasted is a success: one that breaks at once, again and again, must not do so hot.
    if (lasted) {
        backoff_.reset();
        faults_.healed();
    }
    // Another broker of the list is tried at once; only a whole round without success costs a wait.
    const core::Milliseconds time = round_over ? backoff_.next(context_.dice()) : core::Milliseconds::zero();
    const std::string broker = name_of(endpoint);
    say(context_.log, faults_.is_news(broker, error.what()) ? LogLevel::error : LogLevel::debug, broker, error, time);
    context_.http.state().disconnected(broker, error.what(), amqp::consequence(error.kind()));
    notify_ready(status_line(context_.http.state().now()));
    wait(time);
}

/// A right configuration ends the wait: it may be what mends the fault.
void ReconnectLoop::wait(core::Milliseconds time) const {
    const auto until = std::chrono::steady_clock::now() + time;
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
        left = std::chrono::duration_cast<core::Milliseconds>(until - std::chrono::steady_clock::now());
    }
}

}  // namespace

void supervise(const SessionContext& context) {
    while (!context.requests.stopping())
        ReconnectLoop(context).run();
}

}  // namespace retryd::daemon
