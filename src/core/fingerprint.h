// A short mark of what a policy publishes to, by which two daemons can be seen to agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/message.h"
#include "core/policy.h"

namespace retryd::core {

// A hash that is the same on every machine and with every version, as a name in the broker has to be.

/// FNV-1a, 64 bits.
std::uint64_t fnv1a(std::string_view text);
/// 16 digits.
std::string hex(std::uint64_t number);

// A mark by which a message is recognised when the broker gives it again.

/// Over body, message id and headers but those that count deliveries: the same for every redelivery of a message.
/// Not for naming anything that lasts.
std::uint64_t digest(const Message& message);

/// 16 hexadecimal digits, the same for policies that lead every message to the same place.
std::string fingerprint(const Policy& policy);

/// The consumer tag by which the management API shows which configuration a daemon runs: `retryd-{fingerprint}`.
std::string consumer_tag(const Policy& policy);

}  // namespace retryd::core
