// What gnuplot draws: a line for each place, a column for each contender.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace retryd::bench {

/// Rates as ratios to the ceiling's.
std::string ratio_data(const std::vector<nlohmann::json>& results);
/// CPU a message, the contender's own and the broker's together, in us.
std::string cpu_data(const std::vector<nlohmann::json>& results);
/// The contender's own CPU a message, in us.
std::string own_cpu_data(const std::vector<nlohmann::json>& results);

}  // namespace retryd::bench
