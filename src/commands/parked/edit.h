// `retryd parked edit`: one parked message in an editor, and home as it comes back from there.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

struct EditOptions {
    std::size_t number = 1;  // which of the selected, counted from the oldest
    std::string to;          // empty: its own work queue
    std::string archive;     // the original is appended to this file; empty: nowhere
};

/// The original is parked until the broker has confirmed what was made of it, and is in the archive before that is
/// sent. Returns 0 when that is done, and where nothing was changed; 1 where the message is parked as it was, or the
/// broker refused or cannot be reached; 78 wrong configuration.
int parked_edit(const ParkedOptions& options, const EditOptions& edit, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
