// The report of `retryd check`, for people.
#pragma once

#include <iosfwd>
#include <string>

#include "config/settings.h"

namespace retryd::commands {

/// Aligned text without credentials: the brokers, where failures arrive, each entry with its schedule, and how many
/// queues that makes. `colour` sets the headings off.
void print_check(const config::Settings& settings, const std::string& file, bool colour, std::ostream& out);

}  // namespace retryd::commands
