// What a configuration means, for people.
#pragma once

#include <iosfwd>
#include <string>

#include "config/settings.h"

namespace retryd::commands {

/// Aligned text without credentials; `colour` sets the headings off.
void print_meaning(const config::Settings& settings, const std::string& file, bool colour, std::ostream& out);

}  // namespace retryd::commands
