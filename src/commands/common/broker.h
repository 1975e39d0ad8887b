// The broker as the commands see it: what they ask and declare over AMQP, and its management API where one is
// configured.
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

/// Of one vhost. Every call asks anew and throws http::Error.
class ManagementApi {
  public:
    virtual ~ManagementApi() = default;

    virtual std::vector<http::ListedQueue> queues() = 0;
    virtual std::vector<http::ListedConsumer> consumers() = 0;
    virtual std::vector<std::string> amqp10_targets() = 0;
    /// The queues bound to that exchange; none where it does not exist.
    virtual std::vector<core::BindingSpec> bindings_from(const std::string& exchange) = 0;

    virtual admin::VhostPolicies vhost_policies() = 0;
    virtual admin::Routing routing() = 0;
    virtual void bind(const core::BindingSpec& binding) = 0;
    virtual void set_policy(const admin::BrokerPolicy& policy) = 0;

    /// Of retryd's user; nothing where the user of the management API may not know.
    virtual std::optional<admin::Permissions> permissions() = 0;
    /// Of all users; nothing where the user of the management API may not know.
    virtual std::optional<std::vector<admin::UserPermissions>> user_permissions() = 0;
    virtual std::optional<std::vector<std::string>> disabled_feature_flags() = 0;
    /// Nothing where they cannot be seen.
    virtual std::optional<std::vector<http::NodeAlarm>> alarms() = 0;
    /// The broker's; nothing where it does not tell.
    virtual std::optional<core::WallTime> clock() = 0;
};

/// Null where none is configured.
std::unique_ptr<ManagementApi> management_api(const config::Settings& settings, const std::string& vhost);

/// Where it is and what it is. Without credentials.
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
    /// Serves heartbeats meanwhile. Throws amqp::Error when the connection is lost.
    virtual void wait(core::Milliseconds time) = 0;
    /// Of the same vhost; null where none is configured.
    virtual ManagementApi* management() = 0;
};

/// Connected; throws amqp::Error. `settings` must outlive it.
std::unique_ptr<Broker> connect(const config::Settings& settings, const std::string& connection_name);

/// The names of all queues of the vhost, which only the management API can list.
struct QueueNames {
    std::vector<std::string> names;
    std::string fault;  // why they are not known; empty where they are
};

/// `no_management`: the fault where no management API is configured.
QueueNames list_queue_names(Broker& broker, const std::string& no_management);

/// The endpoint of the configuration that the broker was reached at.
const config::Endpoint& endpoint_of(const config::Settings& settings, const BrokerIdentity& identity);

}  // namespace retryd::commands
