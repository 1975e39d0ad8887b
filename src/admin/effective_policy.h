// Policies as a broker has them, and which of their settings is in effect on a queue.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/routing.h"
#include "core/broker_features.h"
#include "core/text.h"
#include "core/topology.h"

namespace retryd::admin {

struct BrokerPolicy {
    std::string name;
    std::string pattern;              // a regular expression
    std::string apply_to = "queues";  // all, queues, exchanges; since 3.12 also classic_queues and so on
    core::Definition definition;
    std::int64_t priority = 0;  // of those that match, the highest alone is in effect
    bool operator==(const BrokerPolicy&) const = default;
};

/// A queue and the policies in effect on it.
struct QueuePolicies {
    std::string name;
    std::string type;  // classic, quorum, stream
    core::Arguments arguments;
    std::string policy;           // empty: none
    std::string operator_policy;  // empty: none
    bool exclusive = false;
    bool auto_delete = false;
};

/// All that a vhost has.
struct VhostPolicies {
    core::BrokerVersion version;
    std::vector<QueuePolicies> queues;
    std::vector<BrokerPolicy> policies;
    std::vector<BrokerPolicy> operator_policies;
    /// Nothing: it was not asked for, and where an exchange leads is not judged.
    std::optional<Routing> routing = std::nullopt;
};

/// RabbitMQ takes any whole number, up to the largest that is kept here.
inline constexpr std::int64_t highest_priority = std::numeric_limits<std::int64_t>::max();
inline std::int64_t priority_above(std::int64_t priority) {
    return priority == highest_priority ? priority : priority + 1;
}

/// Where a value comes from; an argument wins over a policy, except where said.
enum class Source { none, argument, policy, operator_policy };

/// One setting of a queue, as JSON text.
struct Setting {
    Source source = Source::none;
    std::string value;
    bool operator==(const Setting&) const = default;
};

/// Finds policies by name; keeps a reference to `vhost_policies`.
class EffectivePolicy {
  public:
    explicit EffectivePolicy(const VhostPolicies& vhost_policies) : vhost_policies_(vhost_policies) {}

    /// Null where there is none of that name, as with the empty name.
    const BrokerPolicy* policy(std::string_view name) const;
    const BrokerPolicy* operator_policy(std::string_view name) const;

    Setting dead_letter_exchange(const QueuePolicies& queue) const { return or_policy(queue, "dead-letter-exchange"); }
    Setting dead_letter_strategy(const QueuePolicies& queue) const { return or_policy(queue, "dead-letter-strategy"); }
    /// Of any other key: `delayed-retry-type`.
    Setting value(const QueuePolicies& queue, const std::string& key) const { return or_policy(queue, key); }
    /// Of a quorum queue: there the policy wins, and over it the operator's.
    Setting quorum_overflow(const QueuePolicies& queue) const;
    /// Whether something bounds how many messages, or bytes of them, it holds.
    bool is_limited(const QueuePolicies& queue) const;

  private:
    Setting or_policy(const QueuePolicies& queue, const std::string& key) const;
    Setting in_policies(const QueuePolicies& queue, const std::string& key) const;

    const VhostPolicies& vhost_policies_;
};

/// `x-{key}` as JSON text; nothing where it is not among them.
std::optional<std::string> argument(const QueuePolicies& queue, const std::string& key);

/// Of a policy that is to be in effect on a queue of retryd's own whether or not there is a guard (admin/guard.h).
inline constexpr std::int64_t above_guard = 2000;

/// What is a text, as JSON text; nothing where more than quotes would have to be taken off.
std::optional<std::string> text_of(const std::string& json);

/// What is a whole number, as JSON text.
std::optional<std::int64_t> number_of(const std::string& json);

/// Of a delivery limit, as JSON text: whether it is at least the one that retryd declares its queues with.
bool is_high_limit(const std::string& limit);

}  // namespace retryd::admin
