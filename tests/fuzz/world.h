// FileEnvironment for a configuration: an environment and files that stand here, with secrets in them.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "config/load.h"

namespace retryd::fuzz {

/// In the environment as RETRYD_PASSWORD and in the file /run/password.
inline constexpr std::string_view environment_secret = "Umgebung-4711";
inline constexpr std::string_view file_secret = "Datei-0815";

config::FileEnvironment env();

/// Processor time of this thread.
std::chrono::milliseconds time_of(const std::function<void()>& work);

/// Each one line that can be read, without what the environment or a file holds.
void check_problems(const config::Problems& problems);

/// Whatever was loaded can be shown, declared and published to. Returns what was shown.
std::string check_settings(const config::Settings& settings);

}  // namespace retryd::fuzz
