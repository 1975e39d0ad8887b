// RabbitMQ's management API, as far as AMQP cannot tell: which queues there are, who consumes, what is bound, which
// policies are in effect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/permissions.h"
#include "config/settings.h"
#include "core/topology.h"
#include "http/client.h"

namespace retryd::http {

struct ListedQueue {
    std::string name;
    std::string type;  // classic, quorum, stream
    /// Ready, unacked, and those of a dead-lettering under way. Up to 5 s old; nothing until it has been counted once.
    std::optional<std::int64_t> messages;
    core::Arguments arguments;  // the texts and the whole numbers among them
};

struct ListedConsumer {
    std::string queue;
    std::string tag;
    bool operator==(const ListedConsumer&) const = default;
};

/// Every call asks anew and throws Error; no text holds the password.
class ManagementClient {
  public:
    ManagementClient(config::Management settings, config::Tls tls, std::string vhost);

    std::vector<ListedQueue> queues() const;
    /// Of all the vhost.
    std::vector<ListedConsumer> consumers() const;
    /// The queues bound to that exchange; none where it does not exist.
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) const;

    core::BrokerVersion version() const;
    /// All queues and policies of the vhost. What an operator policy does may be 5 s old.
    admin::VhostPolicies vhost_policies() const;
    /// Makes it, or changes the one of that name. The user needs the tag policymaker.
    void set_policy(const admin::BrokerPolicy& policy) const;

    // What only a user with more rights may know; nothing where ours has not got them.
    /// Of that user on the vhost; empty ones where it has none.
    std::optional<admin::Permissions> permissions(const std::string& user) const;
    std::optional<std::vector<std::string>> disabled_feature_flags() const;

  private:
    config::Management settings_;
    config::Tls tls_;
    std::string vhost_;
};

}  // namespace retryd::http
