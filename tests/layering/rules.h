// The rules of the house, each a function from the sources to its violations: one line each, empty where it holds.
#pragma once

#include <string>
#include <vector>

#include "layering/source.h"

namespace retryd::layering {

using Violations = std::vector<std::string>;

/// core <- relay, config, system <- admin <- amqp, telemetry, http <- commands, daemon <- main.cpp: an include points
/// down or stays in its folder, never up, never sideways.
Violations points_up_or_sideways(const Sources& sources);

/// Each library has a home: PCRE2 in admin, rabbitmq-c in amqp, yaml-cpp in config, spdlog and prometheus-cpp in
/// telemetry, libcurl and libmicrohttpd in http, CLI11 in commands, nlohmann-json where JSON is written. No other
/// folder sees its headers, not even through a header of ours.
Violations library_away_from_home(const Sources& sources);

/// core, relay and admin read no clock, use no randomness, do no input or output, write no log and know no library but
/// admin's regular expressions, which are as pure.
Violations impure(const Sources& sources);

/// No header includes itself, not even by way of others.
Violations cycles(const Sources& sources);

}  // namespace retryd::layering
