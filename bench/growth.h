// How retryd's own cost grows with work queues, rungs, backlog, daemons and headers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "options.h"

namespace retryd::bench {

/// {"growth": [{part, row, messages, round, rate, …}], "failures": […]}: the rows of a part in turn, in several rounds.
nlohmann::json growth(const Options& options, const std::string& folder);

}  // namespace retryd::bench
