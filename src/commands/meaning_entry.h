// One item of queues: and what becomes of its messages, for people.
#pragma once

#include <iosfwd>
#include <string>

#include "core/policy.h"

namespace retryd::commands {

/// `heading`: the entry's match as it shall look.
void print_entry(const core::Entry& entry, const std::string& heading, std::ostream& out);

}  // namespace retryd::commands
