// What of a queue's arguments and policies is in effect, as far as it decides about dead letters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/broker_policy.h"

namespace retryd::core {

/// Where a value comes from; an argument wins over a policy, except where said.
enum class Source { none, argument, policy, operator_policy };

/// One setting of a queue, as JSON text.
struct Setting {
    Source source = Source::none;
    std::string value;
    bool operator==(const Setting&) const = default;
};

/// Finds policies by name; keeps a reference to `governance`.
class Effective {
  public:
    explicit Effective(const Governance& governance) : governance_(governance) {}

    /// Null where there is none of that name, as with the empty name.
    const BrokerPolicy* policy(std::string_view name) const;
    const BrokerPolicy* operator_policy(std::string_view name) const;

    Setting dead_letter_exchange(const GovernedQueue& queue) const { return or_policy(queue, "dead-letter-exchange"); }
    Setting dead_letter_strategy(const GovernedQueue& queue) const { return or_policy(queue, "dead-letter-strategy"); }
    /// Of any other key: `delayed-retry-type`.
    Setting value(const GovernedQueue& queue, const std::string& key) const { return or_policy(queue, key); }
    /// Of a quorum queue: there the policy wins, and over it the operator's.
    Setting quorum_overflow(const GovernedQueue& queue) const;
    /// Whether something bounds how many messages, or bytes of them, it holds.
    bool is_limited(const GovernedQueue& queue) const;

  private:
    Setting or_policy(const GovernedQueue& queue, const std::string& key) const;
    Setting in_policies(const GovernedQueue& queue, const std::string& key) const;

    const Governance& governance_;
};

/// `x-{key}` as JSON text; nothing where it is not among them.
std::optional<std::string> argument(const GovernedQueue& queue, const std::string& key);

}  // namespace retryd::core
