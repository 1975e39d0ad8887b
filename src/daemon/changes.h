// What a new configuration changes, for a daemon that runs with another one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace retryd::daemon {

/// The keys whose change takes a new connection; empty where everything can change under way.
std::vector<std::string_view> need_new_connection(const config::Settings& from, const config::Settings& to);

/// What the operator has to look after, since nobody else will; empty mostly.
std::vector<std::string> left_behind(const core::Policy& from, const core::Policy& to);

}  // namespace retryd::daemon
