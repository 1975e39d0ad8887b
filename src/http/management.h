// RabbitMQ's management API, for what AMQP cannot tell: which queues there are, who consumes from them, what is bound,
// which policies are in effect, which permissions our user has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/permissions.h"
#include "admin/routing.h"
#include "config/settings.h"
#include "core/outage.h"
#include "core/topology.h"
#include "http/client.h"

namespace retryd::http {

struct ListedQueue {
    std::string name;
    std::string type;  // classic, quorum, stream
    /// Ready and unacked ones, and those that are being dead-lettered. Up to 5 s old; nothing until they have been
    /// counted.
    std::optional<std::int64_t> messages;
    core::Arguments arguments;  // as far as they are texts, whole numbers or booleans
    /// Of those messages what is neither ready nor unacked: dead letters that their target has not confirmed.
    std::optional<std::int64_t> held = std::nullopt;
    bool exclusive = false;  // of one connection
    bool auto_delete = false;
    /// A second, of the last seconds; nothing where nothing is counted.
    std::optional<double> redelivered_rate = std::nullopt;
    std::optional<double> acked_rate = std::nullopt;
    std::optional<std::int64_t> ready = std::nullopt;  // of `messages`; as old
    std::optional<std::int64_t> consumers = std::nullopt;
    /// By consumers, since the queue was made; nothing where nothing has been delivered yet, or nothing is counted.
    std::optional<std::int64_t> acked = std::nullopt;
};

struct ListedConsumer {
    std::string queue;
    std::string tag;
    bool acks = true;     // false: what it is sent counts as done
    bool amqp10 = false;  // it speaks AMQP 1.0; nothing tells before RabbitMQ 4
    bool operator==(const ListedConsumer&) const = default;
};

/// Of a node: it takes no messages while it lasts.
struct NodeAlarm {
    std::string node;
    std::string resource;  // memory, disk
    bool operator==(const NodeAlarm&) const = default;
};

/// Every call is a request of its own and throws Error, with cause, consequence and remedy. No text holds the password.
class ManagementClient {
  public:
    ManagementClient(config::Management settings, config::Tls tls, std::string vhost);

    std::vector<ListedQueue> queues() const;
    /// Of all queues of the vhost.
    std::vector<ListedConsumer> consumers() const;
    /// Where producers of the vhost that speak AMQP 1.0 send to, as their links say; RabbitMQ 4.1 and later tell it.
    /// Only those whose connections our user may see, and of a great many not all.
    std::vector<std::string> amqp10_targets() const;
    /// The queues bound to that exchange; none where it does not exist.
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) const;
    /// Empty where it does not exist.
    std::string exchange_type(const std::string& exchange) const;

    /// What is counted of that queue; nothing where there is none of that name.
    std::optional<core::QueueCounters> counters(const std::string& queue) const;

    core::BrokerVersion version() const;
    /// All queues and policies of the vhost. Which operator policy is in effect may be 5 s old.
    admin::VhostPolicies vhost_policies() const;
    /// All exchanges of the vhost, and all bindings but those of the default exchange.
    admin::Routing routing() const;
    /// Binds a queue. The user needs the permission to write to it and to read from the exchange.
    void bind(const core::BindingSpec& binding) const;
    /// Creates the policy, or replaces the one of that name. The user needs the tag policymaker.
    void set_policy(const admin::BrokerPolicy& policy) const;

    /// Of that user on the vhost; empty ones where it has none. Nothing where our user may not read them.
    std::optional<admin::Permissions> permissions(const std::string& user) const;
    /// Of all users on the vhost. Nothing where our user may not read them.
    std::optional<std::vector<admin::UserPermissions>> user_permissions() const;
    /// Nothing where our user may not read them.
    std::optional<std::vector<std::string>> disabled_feature_flags() const;
    /// Of all nodes; nothing where our user may not read them.
    std::optional<std::vector<NodeAlarm>> alarms() const;
    /// Of the node that answers; nothing where it does not tell.
    std::optional<core::WallTime> clock() const;

  private:
    config::Management settings_;
    config::Tls tls_;
    std::string vhost_;
};

}  // namespace retryd::http
