// JSON on its way out: what is unsafe in it (core/safe_text.h) is escaped as JSON does, so that whoever parses it gets
// the exact text and a terminal nothing that it obeys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace retryd::telemetry {

/// Set out over several lines where `indent` is not negative. A text that is no UTF-8, which JSON cannot have, is
/// written as core::safe_name writes it.
std::string to_safe_json(nlohmann::ordered_json json, int indent = -1);

}  // namespace retryd::telemetry
