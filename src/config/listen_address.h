// Where retryd's own HTTP server listens: HOST:PORT, [IPV6]:PORT.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/settings.h"

namespace retryd::config {

/// The parts, or what is wrong with it ("has no port"). Host and port are both needed: what listens everywhere shall
/// say so (0.0.0.0, [::]).
std::variant<Http, std::string> parse_listen_address(std::string_view text);

/// HOST:PORT, an IPv6 address in brackets.
std::string to_string(const Http& http);

}  // namespace retryd::config
