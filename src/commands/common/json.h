// JSON output of the commands.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "commands/common/broker.h"

namespace retryd::commands {

/// Keys keep the order in which they are written, because people read this too.
using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text);

/// `not compared` → `not_compared`
std::string json_key(std::string_view text);

Json json_of(const BrokerIdentity& broker);

/// Indented over several lines, or all on one line. Unsafe characters are escaped: names on a broker may contain
/// anything, and this is read on terminals too.
void print_json(const Json& json, std::ostream& out, bool one_line = false);

}  // namespace retryd::commands
