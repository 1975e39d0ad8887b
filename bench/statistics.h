// Out of several rounds, one figure.
#pragma once

#include <algorithm>
#include <vector>

namespace retryd::bench {

/// 0 of nothing.
inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace retryd::bench
