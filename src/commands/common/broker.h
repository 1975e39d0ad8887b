// The broker as the commands use it: asking and declaring over AMQP, and its management API if one is configured.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/permissions.h"
#include "admin/routing.h"
#include "amqp/declarer.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "core/topology.h"
#include "http/client.h"
#include "http/management.h"

namespace retryd::commands {

/// The management API for one vhost. Nothing is cached; every call may throw http::Error.
class ManagementApi {
  public:
    virtual ~ManagementApi() = default;

    virtual std::vector<http::ListedQueue> queues() = 0;
    /// The same, where it matters which have a leader.
    virtual std::vector<http::ListedQueue> queues_with_leaders() = 0;
    virtual std::vector<http::ListedConsumer> consumers() = 0;
    virtual std::vector<std::string> amqp10_targets() = 0;
    /// The queues bound to that exchange; none if it does not exist.
    virtual std::vector<core::BindingSpec> bindings_from(const std::string& exchange) = 0;

    virtual admin::VhostPolicies vhost_policies() = 0;
    virtual admin::Routing routing() = 0;
    virtual void bind(const core::BindingSpec& binding) = 0;
    virtual void set_policy(const admin::BrokerPolicy& policy) = 0;

    /// Of retryd's user; nothing if the management user is not allowed to see them.
    virtual std::optional<admin::Permissions> permissions() = 0;
    /// Of all users; nothing if the management user is not allowed to see them.
    virtual std::optional<std::vector<admin::UserPermissions>> user_permissions() = 0;
    virtual std::optional<std::vector<std::string>> disabled_feature_flags() = 0;
    /// Nothing if they cannot be seen.
    virtual std::optional<std::vector<http::NodeAlarm>> alarms() = 0;
    /// The broker's clock; nothing if it does not tell.
    virtual std::optional<core::WallTime> clock() = 0;
};

/// Null if none is configured.
std::unique_ptr<ManagementApi> management_api(const config::Settings& settings, const std::string& vhost);

/// Address and version of a broker, without credentials.
struct BrokerIdentity {
    std::string host;
    std::uint16_t port = 0;
    bool tls = false;
    std::string vhost;
    core::BrokerVersion version;
};

class Broker {
  public:
    virtual ~Broker() = default;

    virtual BrokerIdentity identity() const = 0;
    /// Throws amqp::Error when the connection is lost.
    virtual amqp::Declarer::Outcome carry_out(amqp::Declarer::Step step) = 0;
    /// Waits, serving heartbeats. Throws amqp::Error when the connection is lost.
    virtual void wait(core::Milliseconds time) = 0;
    /// By the clock that wait() waits by.
    virtual core::SteadyTime now() const = 0;
    /// For the same vhost; null if none is configured.
    virtual ManagementApi* management() = 0;
};

/// Connected; throws amqp::Error. `settings` must outlive it.
std::unique_ptr<Broker> connect(const config::Settings& settings, const std::string& connection_name);

/// The names of all queues of the vhost, which only the management API can list.
struct QueueNames {
    std::vector<std::string> names;
    std::string fault;  // why they are not known; empty if they are
};

/// `no_management`: the fault to report if no management API is configured.
QueueNames list_queue_names(Broker& broker, const std::string& no_management);

/// The configured endpoint at which the broker was reached.
const config::Endpoint& endpoint_of(const config::Settings& settings, const BrokerIdentity& identity);

}  // namespace retryd::commands
