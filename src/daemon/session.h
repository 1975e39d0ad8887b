// One connection's life: connect, declare, consume, relay, and leave in order when asked to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "amqp/link.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "daemon/stop.h"
#include "relay/relay.h"
#include "telemetry/log.h"
#include "telemetry/log_reporter.h"

namespace retryd::daemon {

class Session : private amqp::LinkObserver {
  public:
    /// Connects; throws amqp::Error. The references must outlive it. `name` is what the log calls the broker;
    /// `on_consuming` is called once, when the first message may come.
    Session(const config::Settings& settings, const config::Endpoint& endpoint, std::string name, telemetry::Log& log,
            const Stop& stop, std::function<void()> on_consuming);

    /// Returns when stop was requested and all that was in flight is settled, or the shutdown timeout is over.
    /// Throws amqp::Error: then this session is over, and the broker gives again what was not acked.
    void run();

  private:
    bool may_leave(const core::Now& now);
    core::Milliseconds time_to_wait(const core::Now& now) const;
    void warn_of_old_broker();

    void consuming() override;
    void accepted(std::string_view note) override;
    void blocked(std::string_view reason) override;
    void unblocked() override;

    const config::Settings& settings_;
    std::string name_;
    telemetry::Log& log_;
    const Stop& stop_;
    std::function<void()> on_consuming_;
    telemetry::LogReporter reporter_;
    amqp::Link link_;
    core::BrokerFeatures features_;
    relay::Relay relay_;
    std::optional<core::SteadyTime> leaving_until_;
};

}  // namespace retryd::daemon
