// Which permissions retryd's user needs, and which of them it has.
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

/// For what is wanted. `declares`: retryd declares it, else it only has to be there.
std::vector<NeededPermission> needed_permissions(const core::Policy& policy,
                                                 const std::vector<core::DesiredItem>& wanted, bool declares);

/// Those that it has not. One whose regular expression cannot be read here counts as given.
std::vector<NeededPermission> missing_permissions(const std::vector<NeededPermission>& needed,
                                                  const Permissions& given);

struct UserPermissions {
    std::string user;
    Permissions permissions;
    bool operator==(const UserPermissions&) const = default;
};

/// A user who can make retryd send messages into work queues that he may not write to himself.
struct NeedlessWriter {
    std::string user;
    std::string exchange;  // leads to retryd, which believes what comes from there, or to work queues
    bool operator==(const NeedlessWriter&) const = default;
};

/// Who may write to an exchange that leads to the error queue, or to the return exchange, and needs it for nothing that
/// can be seen: he may not declare any of the queues that name that exchange as their dead-letter exchange by an
/// argument (for which RabbitMQ asks this right). `own_user` is left out, and so is who may write to the default
/// exchange: he can write to every queue anyway.
std::vector<NeedlessWriter> needless_writers(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                             const std::vector<UserPermissions>& users, std::string_view own_user);

/// Lets the daemon do its work and nothing else. Enough on every version, with any delays on its ladders, so that a
/// changed ladder takes no new permission. `declares`: it makes its queues itself.
///
/// A work queue's name so long that its rung's is shortened is matched only where its glob ends with a star.
Permissions daemon_permissions(const core::Policy& policy, bool declares);

/// What a person who works on parked messages needs: to take from parking queues, to send to work queues, and a queue
/// for the time of a replay.
Permissions replay_permissions(const core::Policy& policy);

}  // namespace retryd::admin
