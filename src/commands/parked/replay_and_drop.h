// `retryd parked replay` and `retryd parked drop`: a look first, then what is selected is sent back or deleted.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

struct ParkedRunOptions {
    bool all = false;
    bool dry_run = false;
    std::optional<std::size_t> first;

    // Of replay.
    std::string to;                              // empty: each to its own work queue
    int per_second = 50;                         // 0: as fast as it goes
    bool ramp = false;                           // a few first, then more and more
    std::optional<std::size_t> stop_above = 10;  // failures; absent: whatever fails

    bool yes = false;  // of drop: do not ask
};

/// Both return 0 when all that was selected is done; 1 where some stays, or more failed than may, or the broker refused
/// or cannot be reached; 64 where nothing says which messages are meant; 78 wrong configuration.
int parked_replay(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);
int parked_drop(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
