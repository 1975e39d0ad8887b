// What the commands print for programs.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "commands/common/broker.h"

namespace retryd::commands {

/// Keys stay in the order in which they are written: people read this too.
using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text);

/// `not compared` → `not_compared`
std::string json_key(std::string_view text);

Json json_of(const BrokerIdentity& broker);

/// Set out over several lines, or all of it on one. What is unsafe is escaped, for this is read on terminals too: names
/// on a broker may hold anything.
void print_json(const Json& json, std::ostream& out, bool one_line = false);

}  // namespace retryd::commands
