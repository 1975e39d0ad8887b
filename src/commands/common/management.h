// What `attach` asks of a broker: the policies of a vhost, through the management API.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/governance.h"
#include "admin/permissions.h"
#include "config/settings.h"
#include "http/client.h"

namespace retryd::commands {

/// Every call throws http::Error.
class PolicyBoard {
  public:
    virtual ~PolicyBoard() = default;

    virtual admin::VhostPolicies governance() = 0;
    virtual void set(const admin::BrokerPolicy& policy) = 0;
    /// The queues bound to that exchange; none where it does not exist.
    virtual std::vector<core::BindingSpec> bindings_from(const std::string& exchange) = 0;
};

/// Of the first broker's vhost; `settings` must have a management API.
std::unique_ptr<PolicyBoard> policy_board(const config::Settings& settings);

/// The vhost that is meant.
std::string vhost_of(const config::Settings& settings);

// What `doctor` asks the management API beyond what `plan` does.

/// Every call throws http::Error.
class Records {
  public:
    virtual ~Records() = default;

    virtual admin::VhostPolicies governance() = 0;
    /// Of the user that works on the queues; nothing where the user that asks may not know.
    virtual std::optional<admin::Permissions> permissions() = 0;
    virtual std::optional<std::vector<std::string>> disabled_feature_flags() = 0;
};

/// Null where no management API is configured. Of the vhost that is named.
std::unique_ptr<Records> records_of(const config::Settings& settings, const std::string& vhost);

}  // namespace retryd::commands
