// One connection's life: connect, declare, consume, relay, and leave in order when asked to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "amqp/broker_session.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/decide.h"
#include "daemon/configuration.h"
#include "daemon/events.h"
#include "daemon/http_service.h"
#include "daemon/requests.h"
#include "daemon/watchdog.h"
#include "relay/relay.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// What a session needs from outside; all of it must outlive the session.
struct SessionContext {
    Configuration& configuration;
    telemetry::Log& log;
    Requests& requests;
    const core::Dice& dice;
    relay::PoisonDetector& suspects;
    Watchdog& watchdog;
    HttpService& http;
};

class Session : private amqp::BrokerSessionObserver {
  public:
    /// Connects; throws amqp::Error. `name` is what the log calls the broker.
    Session(const SessionContext& context, const config::Endpoint& endpoint, std::string name);

    /// Returns when a stop was requested, or a configuration was loaded that takes a new connection: then all that was
    /// in flight is settled, or the shutdown timeout is over. Throws amqp::Error: then this session is over, and the
    /// broker gives again what was not acked.
    void run();

  private:
    void heed_requests(const core::Now& now);
    void follow_reload(const core::Now& now);
    void adopt_next(const core::Now& now);
    void begin_to_leave(const core::Now& now);
    bool may_leave(const core::Now& now);
    core::Milliseconds time_to_wait(const core::Now& now) const;
    void tell_if_slow(core::SteadyTime began, core::SteadyTime now);
    void warn_of_old_broker();

    void consuming() override;
    void accepted(std::string_view note) override;
    void blocked(std::string_view reason) override;
    void unblocked() override;

    SessionContext context_;
    std::shared_ptr<const config::Settings> settings_;
    std::shared_ptr<const config::Settings> next_;  // to be adopted once nothing is in flight; mostly null
    const config::Endpoint endpoint_;
    std::string name_;
    telemetry::Log& log_;
    FlowEvents reporters_;
    amqp::BrokerSession link_;
    Watchdog::Guard guard_;
    core::BrokerFeatures features_;
    relay::Relay relay_;
    std::optional<core::SteadyTime> leaving_until_;
    bool told_ = false;  // how the attempt to connect has ended
};

// What SIGHUP asks for, whatever the daemon is doing at that moment.

/// Reads the file again; HTTP, the watchdog, systemd and the status page hear how it went. True: another configuration
/// is current, and whoever works by the former one has to take it up.
bool reload(const SessionContext& daemon);

}  // namespace retryd::daemon
