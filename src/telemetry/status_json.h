// The parts of a status as JSON that /status.json and `retryd status --json` share.
//
// There are two documents because they answer two questions: the daemon reports what it knows about itself, with the
// history that its page draws; the command reports what the broker has, with or without a daemon. Both formats are
// documented and stable.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "telemetry/status.h"

namespace retryd::telemetry {

/// The names of the values of HeldStatus::outage.
inline constexpr std::array<std::string_view, 3> outage_states{"none", "holding", "releasing"};

// Keys keep the order in which they are written, because people read this too.

nlohmann::ordered_json json_of(const QueueDepth& depth);
nlohmann::ordered_json json_of(const std::vector<RungStatus>& rungs);
nlohmann::ordered_json json_of(const std::vector<QueueStatus>& queues);
nlohmann::ordered_json json_of(const std::vector<LadderStatus>& ladders);
nlohmann::ordered_json json_of(const std::vector<HeldStatus>& outages);
/// Null if the daemon makes no checks.
nlohmann::ordered_json json_of(const std::optional<ChecksStatus>& checks);

}  // namespace retryd::telemetry
