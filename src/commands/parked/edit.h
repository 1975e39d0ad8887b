// `retryd parked edit`: opens one parked message in an editor and sends home what comes back.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

struct EditOptions {
    std::size_t number = 1;  // which of the selected messages, counted from the oldest
    std::string to;          // empty: its own work queue
    std::string archive;     // the original is appended to this file; empty: nowhere
};

/// The original stays parked until the broker has confirmed the edited message, and is in the archive before that is
/// sent. Returns 0 if that is done, or nothing was changed; 1 if the message is still parked unchanged, or the broker
/// refused or cannot be reached; 78 for a wrong configuration.
int parked_edit(const ParkedOptions& options, const EditOptions& edit, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
