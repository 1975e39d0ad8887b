// One item of queues: and what becomes of its messages, for people.
#pragma once

#include <iosfwd>
#include <string>

#include "config/settings.h"
#include "core/policy.h"

namespace retryd::commands {

/// `heading`: the entry's match as it shall look.
void print_entry(const core::Entry& entry, const std::string& heading, std::ostream& out);

// What a configuration means, for people.

/// Aligned text without credentials; `colour` sets the headings off.
void print_check(const config::Settings& settings, const std::string& file, bool colour, std::ostream& out);

}  // namespace retryd::commands
