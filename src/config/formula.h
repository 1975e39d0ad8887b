// A ladder by formula: 1s, 2s, 4s … cut at a longest delay.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "core/time.h"

namespace retryd::config {

struct Formula {
    core::Milliseconds first{};             // at least 1 ms
    double factor = 2.0;                    // at least 1
    std::optional<core::Milliseconds> max;  // at most core::longest_ttl
    int attempts = 1;                       // at least 1
};

/// The attempt whose delay would be longer than RabbitMQ takes.
struct TooLong {
    int attempt = 0;
    bool operator==(const TooLong&) const = default;
};

/// Delay n is min(max, first × factor^(n-1)), rounded to a whole millisecond. The same on every machine: the delays
/// are parts of queues' names.
std::variant<std::vector<core::Milliseconds>, TooLong> delays_of(const Formula& formula);

}  // namespace retryd::config
