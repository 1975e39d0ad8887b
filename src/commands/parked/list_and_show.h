// `retryd parked list` and `retryd parked show`: what is parked and why, and one of the messages with all that it
// carries. Both take nothing out of any queue.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

struct ListOptions {
    std::string by;         // what is counted by (commands/parked/value_groups.h); empty: by work queue and reason
    bool messages = false;  // one line for each
};

/// Returns 0; 1 where something could not be looked at, or the broker cannot be reached; 78 wrong configuration.
int parked_list(const ParkedOptions& options, const ListOptions& list, std::ostream& out, std::ostream& err);

struct ShowOptions {
    std::size_t number = 1;  // which of the selected, counted from the oldest
    bool raw = false;        // the body alone, as it is
};

/// Returns 0; 1 where there is no such message, or the broker cannot be reached; 78 wrong configuration.
int parked_show(const ParkedOptions& options, const ShowOptions& show, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
