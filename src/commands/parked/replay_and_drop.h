// `retryd parked replay` and `retryd parked drop`: a look first, then what is selected is sent back or deleted.
#pragma once

#include <iosfwd>

#include "commands/common/report.h"
#include "commands/parked/browser.h"
#include "commands/parked/replay_or_drop.h"
#include "config/settings.h"

namespace retryd::commands {

/// Both return 0 when all that was selected is done; 1 where some stays, or more failed than may, or the broker refused
/// or cannot be reached; 64 where nothing says which messages are meant; 78 wrong configuration.
int parked_replay(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);
int parked_drop(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);

/// Replays what `retryd parked edit` has made of a message. `options.exactly` is the original, which stays where the
/// broker does not confirm. Returns as parked_replay; also 1 where the original is gone.
int replay_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, const EditedReplay& edited);

}  // namespace retryd::commands
