// Hashes by which a name, a message and a policy are recognised.
//
// Not std::hash: a name in the broker has to be the same on every machine and with every version of retryd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/message.h"
#include "core/policy.h"

namespace retryd::core {

/// FNV-1a, 64 bits.
inline std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    return hash;
}
/// 16 digits.
std::string hex(std::uint64_t number);

/// Over body, message id and headers but those that count deliveries: the same for every redelivery of a message.
/// Not for naming anything that lasts.
std::uint64_t digest(const Message& message);

/// 16 hexadecimal digits, by which two daemons can be seen to agree: the same for policies that lead every message to
/// the same place.
std::string fingerprint(const Policy& policy);

/// The consumer tag by which the management API shows which configuration a daemon runs: `retryd-{fingerprint}`.
std::string consumer_tag(const Policy& policy);

}  // namespace retryd::core
