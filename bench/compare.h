// Contenders side by side, in turn, in several rounds.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "options.h"

namespace retryd::bench {

/// {"runs": [{queues, size, messages, round, contender, rate, …}], "latency": [{contender, load, p50_ms, …}],
/// "failures": […]}
nlohmann::json compare(const Options& options, const std::string& folder);

}  // namespace retryd::bench
