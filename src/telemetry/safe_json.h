// JSON output: unsafe characters (core/safe_text.h) become JSON escapes, so that a parser gets the exact text and a
// terminal no control sequences.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace retryd::telemetry {

/// Indented if `indent` is not negative. A text that is not UTF-8, which JSON cannot contain, is written as
/// core::safe_name would.
std::string to_safe_json(nlohmann::ordered_json json, int indent = -1);

}  // namespace retryd::telemetry
