// Sends parked messages back, or deletes them: a look first, then what is selected, one parking queue after the other.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "commands/common/progress.h"
#include "commands/parked/browser.h"
#include "commands/parked/run_report.h"
#include "commands/parked/runner.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

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

/// A message that a person has changed.
struct EditedReplay {
    const core::Message* message;  // goes in the place of the one that is selected
    ParkedRunner::Before before;
};

/// Who runs it, and what it is told besides its options.
struct ParkedRunScene {
    bool drop = false;
    std::string id;  // of a replay: 16 hex digits
    core::WallTime now;
    StopSign stop;
    Progress& progress;
    std::size_t most_waiting_bytes = admin::ParkedRunOrder{}.most_waiting_bytes;
    const EditedReplay* edited = nullptr;  // null: the messages as they are
    /// Of a drop, once it is known which messages are meant; empty: nobody is asked.
    std::function<bool(const ParkedRunReport& looked)> agreed = {};
};

/// Throws amqp::Error.
ParkedRunReport replay_or_drop(const config::Settings& settings, const ParkedOptions& options,
                               const ParkedRunOptions& run, const ParkedRunScene& scene);

/// Whether something says which messages are meant; a replay or a drop of all takes a word for that.
bool says_which(const ParkedOptions& options, const ParkedRunOptions& run);

}  // namespace retryd::commands
