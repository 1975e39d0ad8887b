// Asks the running daemon for its status over HTTP.
#pragma once

#include <string>
#include <variant>

#include "config/settings.h"
#include "telemetry/status.h"

namespace retryd::commands {

/// The daemon's answer at /status.json, or why there is none and what to do about it.
using DaemonAnswer = std::variant<telemetry::Status, std::string>;

/// Asks at the address that the configuration has for it; waits at most two seconds.
DaemonAnswer ask_daemon(const config::Settings& settings);

/// Reads the body of an answer from /status.json.
DaemonAnswer read_daemon_answer(const std::string& body);

}  // namespace retryd::commands
