// What a fuzzed configuration is loaded with and checked for: an environment and files with secrets in them, and what
// has to hold for its problems or its settings.
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

/// Each problem is one readable line, without a secret of the environment or of a file.
void check_problems(const config::Problems& problems);

/// Settings that were loaded can be shown and declared. Returns what was shown.
std::string check_settings(const config::Settings& settings);

}  // namespace retryd::fuzz
