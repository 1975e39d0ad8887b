// A hash that is the same on every machine and with every version, as a name in the broker has to be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace retryd::core {

/// FNV-1a, 64 bits.
std::uint64_t fnv1a(std::string_view text);
/// 16 digits.
std::string hex(std::uint64_t number);

}  // namespace retryd::core
