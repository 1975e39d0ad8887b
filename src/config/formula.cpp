#include "config/formula.h"

#include <algorithm>
#include <cmath>

#include "core/duration.h"

namespace retryd::config {

std::variant<std::vector<core::Milliseconds>, TooLong> delays_of(const Formula& formula) {
    std::vector<core::Milliseconds> delays;
    const auto longest = static_cast<double>(formula.max.value_or(core::longest_ttl).count());
    // Multiplied step by step: multiplication is the same everywhere, pow is not. It may grow to infinity, which is
    // longer than any longest.
    auto exact = static_cast<double>(formula.first.count());
    for (int attempt = 1; attempt <= formula.attempts; ++attempt) {
        if (exact > longest && !formula.max) return TooLong{attempt};
        delays.emplace_back(std::llround(std::min(exact, longest)));
        exact *= formula.factor;
    }
    return delays;
}

}  // namespace retryd::config
