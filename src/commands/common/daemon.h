// What the running daemon tells of itself over HTTP.
#pragma once

#include <string>
#include <variant>

#include "config/settings.h"
#include "telemetry/status.h"

namespace retryd::commands {

/// What the running daemon answers at /status.json, or why it does not and what it takes.
using DaemonAnswer = std::variant<telemetry::Status, std::string>;

/// Asks it where its configuration lets it listen; waits two seconds at most.
DaemonAnswer ask_daemon(const config::Settings& settings);

/// `body`: of the answer to /status.json.
DaemonAnswer read_daemon_answer(const std::string& body);

}  // namespace retryd::commands
