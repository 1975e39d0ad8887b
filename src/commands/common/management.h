// What the commands ask of RabbitMQ's management API: what AMQP cannot tell, and the policies that it cannot set.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/permissions.h"
#include "admin/routing.h"
#include "config/settings.h"
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

}  // namespace retryd::commands
