// `retryd parked replay` and `retryd parked drop`: a look first, then the selected messages are sent back or deleted.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/progress.h"
#include "commands/common/report.h"
#include "commands/parked/browser.h"
#include "commands/parked/runner.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::commands {

/// The result for one parking queue.
struct ParkedQueueResult {
    std::string name;
    std::size_t selected = 0;  // according to the first look
    ParkedRunResult run;
};

struct ParkedRunReport {
    std::string fault;  // why nothing was changed and there is nothing to report; else empty
    std::string id;     // the id of a replay
    bool drop = false;
    bool dry_run = false;
    std::optional<std::size_t> stop_above;
    ParkedOverview overview;         // the first look
    std::size_t undeliverable = 0;   // messages to drop that cannot be handed over
    std::size_t left = 0;            // messages to replay that cannot be handed over, and stay
    std::vector<std::string> notes;  // what differs from what one would expect, and why
    std::vector<ParkedQueueResult> queues;

    std::size_t done() const {
        std::size_t sum = 0;
        for (const ParkedQueueResult& queue : queues)
            sum += queue.run.counts.done;
        return sum;
    }
    std::size_t meant() const { return overview.selected() + undeliverable; }
    std::size_t failed() const {
        std::size_t sum = 0;
        for (const ParkedQueueResult& queue : queues)
            sum += queue.run.counts.failures();
        return sum;
    }
    /// All selected messages are done, and no more failed than allowed.
    bool ok() const {
        if (!overview.complete()) return false;
        if (stop_above && failed() > *stop_above) return false;
        // Acks may be lost with a connection; then there are two copies of those messages.
        for (const ParkedQueueResult& queue : queues) {
            if (!queue.run.fault.empty()) return false;
        }
        return dry_run || (done() == meant() && left == 0);
    }
};

void print_run_report(const ParkedRunReport& report, core::WallTime now, bool colour, std::ostream& out);
/// `with_texts`: also why each queue ended early, in words.
nlohmann::ordered_json json_of(const ParkedRunReport& report, bool with_texts = false);

struct ParkedRunOptions {
    bool all = false;
    bool dry_run = false;
    std::optional<std::size_t> first;

    // For replay.
    std::string to;                              // empty: each message to its own work queue
    int per_second = 50;                         // 0: no limit
    bool ramp = false;                           // few messages at first, then more and more
    std::optional<std::size_t> stop_above = 10;  // ends above so many failures; absent: never

    bool yes = false;  // for drop: do not ask
};

/// A message that a person has edited.
struct EditedReplay {
    const core::Message* message;  // sent instead of the selected one
    ParkedRunner::Before before;
};

/// The circumstances of a run, besides its options.
struct ParkedRunScene {
    bool drop = false;
    std::string id;  // the id of a replay: 16 hex digits
    core::WallTime now;
    StopSign stop;
    Progress& progress;
    std::size_t most_waiting_bytes = admin::ParkedRunOrder{}.most_waiting_bytes;
    const EditedReplay* edited = nullptr;  // null: messages are sent unchanged
    /// For a drop, asked once it is known which messages are meant; empty: do not ask.
    std::function<bool(const ParkedRunReport& looked)> agreed = {};
};

/// Throws amqp::Error.
ParkedRunReport replay_or_drop(const config::Settings& settings, const ParkedOptions& options,
                               const ParkedRunOptions& run, const ParkedRunScene& scene);

/// Whether the options say which messages are meant; replaying or dropping all of them has to be asked for explicitly.
bool says_which(const ParkedOptions& options, const ParkedRunOptions& run);

/// Both return 0 if all selected messages are done; 1 if some stay, more failed than allowed, or the broker refused or
/// cannot be reached; 64 if the options do not say which messages are meant; 78 for a wrong configuration.
int parked_replay(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);
int parked_drop(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);

/// Replays a message that `retryd parked edit` has edited. `options.exactly` is the original, which stays if the broker
/// does not confirm. Returns as parked_replay; also 1 if the original is gone.
int replay_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, const EditedReplay& edited);

}  // namespace retryd::commands
