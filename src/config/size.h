// Sizes in bytes as operators write them: 64MiB, 10MB, 512B.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retryd::config {

/// The largest size that is taken: 1 TiB.
inline constexpr std::uint64_t largest_size = 1ULL << 40U;

/// A whole number directly followed by its unit: B, kB or KB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024).
/// Nothing for anything else, or past largest_size.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// The shortest exact spelling: parse_size(format_size(n)) == n.
std::string format_size(std::uint64_t bytes);

}  // namespace retryd::config
