// RabbitMQ's management API, for what AMQP cannot tell: which queues, consumers and bindings there are, which policies
// are in effect, and which permissions our user has.
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
    /// Ready and unacked messages, and those that are being dead-lettered. Up to 5 s old; nothing until they have been
    /// counted.
    std::optional<std::int64_t> messages;
    core::Arguments arguments;  // only texts, whole numbers and booleans
    /// The messages among them that are neither ready nor unacked: dead letters that their target has not confirmed.
    std::optional<std::int64_t> held = std::nullopt;
    bool exclusive = false;  // belongs to one connection
    bool auto_delete = false;
    /// Redeliveries, acks and publications a second, over the last seconds; nothing if the broker does not count them.
    std::optional<double> redelivered_rate = std::nullopt;
    std::optional<double> acked_rate = std::nullopt;
    std::optional<double> published_rate = std::nullopt;
    std::optional<std::int64_t> ready = std::nullopt;  // the ready ones of `messages`; as old as that
    std::optional<std::int64_t> consumers = std::nullopt;
    /// Acks by consumers since the queue was declared; nothing before the first delivery, or if the broker does not
    /// count.
    std::optional<std::int64_t> acked = std::nullopt;
    /// It has no leader now, or its node is away: RabbitMQ says then that it has no messages, or that it is not there.
    bool leaderless = false;
    std::string leader = {};  // the node that it is on, or was last; empty if it is not told

    /// Whether `held` is more than has come within two seconds. As long as messages come, some are always on their way.
    bool holds_back() const;
};

struct ListedConsumer {
    std::string queue;
    std::string tag;
    bool acks = true;     // false: messages count as acked when sent
    bool amqp10 = false;  // it speaks AMQP 1.0; unknown before RabbitMQ 4
    bool operator==(const ListedConsumer&) const = default;
};

/// An alarm of a node: while it lasts, the broker accepts no messages.
struct NodeAlarm {
    std::string node;
    std::string resource;  // memory, disk
    bool operator==(const NodeAlarm&) const = default;
};

/// Every call makes requests of its own and may throw Error, with cause, consequence and remedy. No text contains the
/// password.
class ManagementClient {
  public:
    ManagementClient(config::Management settings, config::Tls tls, std::string vhost);

    std::vector<ListedQueue> queues() const;
    /// The same, and a queue whose leader's node is away is leaderless: RabbitMQ 4.3.6 may go on for more than a minute
    /// to list it as running, where another node was a member before (seen on a cluster). Which nodes are away takes
    /// the tag monitoring; where that is not told, these are queues().
    std::vector<ListedQueue> queues_with_leaders() const;
    /// The consumers of all queues of the vhost.
    std::vector<ListedConsumer> consumers() const;
    /// The target addresses of AMQP 1.0 producers of the vhost; RabbitMQ 4.1 and later report them. Only for
    /// connections that our user may see, and not all if there are very many.
    std::vector<std::string> amqp10_targets() const;
    /// The queues bound to that exchange; none if it does not exist.
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) const;
    /// Empty if it does not exist.
    std::string exchange_type(const std::string& exchange) const;

    /// The counters of that queue; nothing if it does not exist.
    std::optional<core::QueueCounters> counters(const std::string& queue) const;

    core::BrokerVersion version() const;
    /// All queues and policies of the vhost. Which operator policy is in effect may be 5 s old.
    admin::VhostPolicies vhost_policies() const;
    /// All exchanges of the vhost, and all bindings except those of the default exchange.
    admin::Routing routing() const;
    /// Binds a queue. The user needs permission to write to it and to read from the exchange.
    void bind(const core::BindingSpec& binding) const;
    /// Creates the policy, or replaces the one of that name. The user needs the tag policymaker.
    void set_policy(const admin::BrokerPolicy& policy) const;

    /// That user's permissions on the vhost; empty if it has none. Nothing if our user may not read them.
    std::optional<admin::Permissions> permissions(const std::string& user) const;
    /// The permissions of all users on the vhost. Nothing if our user may not read them.
    std::optional<std::vector<admin::UserPermissions>> user_permissions() const;
    /// Nothing if our user may not read them.
    std::optional<std::vector<std::string>> disabled_feature_flags() const;
    /// The alarms of all nodes; nothing if our user may not read them.
    std::optional<std::vector<NodeAlarm>> alarms() const;
    /// The clock of the node that answers; nothing if it does not tell.
    std::optional<core::WallTime> clock() const;

  private:
    config::Management settings_;
    config::Tls tls_;
    std::string vhost_;
};

}  // namespace retryd::http
