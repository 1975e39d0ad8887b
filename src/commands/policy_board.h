// What `attach` asks of a broker: the policies of a vhost, through the management API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/broker_policy.h"
#include "http/error.h"

namespace retryd::commands {

/// Every call throws http::Error.
class PolicyBoard {
  public:
    virtual ~PolicyBoard() = default;

    virtual core::Governance governance() = 0;
    virtual void set(const core::BrokerPolicy& policy) = 0;
    /// The queues bound to that exchange; none where it does not exist.
    virtual std::vector<core::BindingSpec> bindings_from(const std::string& exchange) = 0;
};

/// Of the first broker's vhost; `settings` must have a management API.
std::unique_ptr<PolicyBoard> policy_board(const config::Settings& settings);

/// The vhost that is meant.
std::string vhost_of(const config::Settings& settings);

}  // namespace retryd::commands
