// `retryd parked replay` and `retryd parked drop`: a look first, then what is selected is sent back or deleted.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "commands/common/report.h"
#include "commands/parked/browser.h"
#include "commands/parked/runner.h"
#include "config/settings.h"
#include "core/message.h"

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

/// What `retryd parked edit` has made of a message.
struct EditedReplay {
    const core::Message* message;  // goes in the place of the one that is selected
    ParkedRunner::Before before;
};

/// Replays it. `options.exactly` is the original, which stays where the broker does not confirm. Returns as
/// parked_replay; also 1 where the original is gone.
int replay_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, const EditedReplay& edited);

}  // namespace retryd::commands
