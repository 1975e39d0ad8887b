// The policies of a broker, and which of their settings are in effect on a queue.
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
    std::int64_t priority = 0;  // RabbitMQ applies only the matching policy with the highest priority
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

/// All policies and queues of a vhost.
struct VhostPolicies {
    core::BrokerVersion version;
    std::vector<QueuePolicies> queues;
    std::vector<BrokerPolicy> policies;
    std::vector<BrokerPolicy> operator_policies;
    /// Nothing if it was not asked for; then no check says where an exchange leads.
    std::optional<Routing> routing = std::nullopt;
};

/// RabbitMQ accepts any whole number; larger ones than this are kept as this.
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

    /// Null if there is no policy of that name; the name may be empty.
    const BrokerPolicy* policy(std::string_view name) const;
    const BrokerPolicy* operator_policy(std::string_view name) const;

    Setting dead_letter_exchange(const QueuePolicies& queue) const { return or_policy(queue, "dead-letter-exchange"); }
    Setting dead_letter_strategy(const QueuePolicies& queue) const { return or_policy(queue, "dead-letter-strategy"); }
    /// The value of any other key, such as `delayed-retry-type`.
    Setting value(const QueuePolicies& queue, const std::string& key) const { return or_policy(queue, key); }
    /// For a quorum queue, where a policy beats the argument, and an operator policy beats both.
    Setting quorum_overflow(const QueuePolicies& queue) const;
    /// Whether the number or size of its messages is limited.
    bool is_limited(const QueuePolicies& queue) const;

  private:
    Setting or_policy(const QueuePolicies& queue, const std::string& key) const;
    Setting in_policies(const QueuePolicies& queue, const std::string& key) const;

    const VhostPolicies& vhost_policies_;
};

/// The argument `x-{key}` as JSON text; nothing if the queue does not have it.
std::optional<std::string> argument(const QueuePolicies& queue, const std::string& key);

/// The priority for a policy that has to be in effect on one of retryd's own queues whether or not there is a guard
/// (admin/guard.h).
inline constexpr std::int64_t above_guard = 2000;

/// The text in a JSON string; nothing if it has escapes or is not a string.
std::optional<std::string> text_of(const std::string& json);

/// The whole number that is this JSON text; nothing if it is none.
std::optional<std::int64_t> number_of(const std::string& json);

/// Whether a delivery limit (JSON text) is at least the one that retryd declares its queues with.
bool is_high_limit(const std::string& limit);

}  // namespace retryd::admin
