// The permissions that retryd's user needs, and which of them are missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/effective_policy.h"
#include "core/policy.h"
#include "core/topology.h"

namespace retryd::admin {

/// As RabbitMQ keeps them: regular expressions for names of queues and exchanges.
struct Permissions {
    std::string configure;
    std::string write;
    std::string read;
    bool operator==(const Permissions&) const = default;
};

struct NeededPermission {
    std::string_view operation;  // configure, write, read
    std::string name;            // of a queue or an exchange; amq.default is the default exchange
    bool operator==(const NeededPermission&) const = default;
};

/// Permissions for everything in the topology. `declares`: retryd declares it; otherwise it only has to exist.
std::vector<NeededPermission> needed_permissions(const core::Policy& policy,
                                                 const std::vector<core::DesiredItem>& wanted, bool declares);

/// What it takes to declare that item.
std::vector<NeededPermission> permissions_to_declare(const core::TopologyItem& item);

/// The missing ones. If a user's pattern cannot be read here, it counts as sufficient.
std::vector<NeededPermission> missing_permissions(const std::vector<NeededPermission>& needed,
                                                  const Permissions& given);

struct UserPermissions {
    std::string user;
    Permissions permissions;
    bool operator==(const UserPermissions&) const = default;
};

/// A user who can make retryd send messages into work queues that the user may not write to.
struct NeedlessWriter {
    std::string user;
    std::string exchange;  // an exchange that leads to retryd, which believes what comes from there, or to work queues
    bool operator==(const NeedlessWriter&) const = default;
};

/// Users with write permission on an exchange that leads to the error queue, or on the return exchange, without an
/// apparent need for it: they may not declare any queue that names the exchange as its dead-letter exchange in an
/// argument (which requires that permission). `own_user` is left out, and so are users who may write to the default
/// exchange: they can publish to every queue anyway.
std::vector<NeedlessWriter> needless_writers(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                             const std::vector<UserPermissions>& users, std::string_view own_user);

/// What the daemon needs and nothing more. Enough for every RabbitMQ version and any delays on the ladders, so that a
/// changed ladder needs no new permission. `declares`: the daemon declares its queues itself.
///
/// A work queue with so long a name that its rungs' names are shortened is covered only if its glob ends with a star.
Permissions daemon_permissions(const core::Policy& policy, bool declares);

/// What a person needs to work on parked messages: to consume parking queues, to publish to work queues, and a
/// temporary queue during a replay.
Permissions replay_permissions(const core::Policy& policy);

}  // namespace retryd::admin
