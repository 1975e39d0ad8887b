// `retryd parked replay` and `retryd parked drop`: a look first, then what is selected is sent back or deleted.
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

/// What became of one parking queue.
struct ParkedQueueResult {
    std::string name;
    std::size_t selected = 0;  // by the first look
    ParkedRunResult run;
};

struct ParkedRunReport {
    std::string fault;  // why nothing was changed at all, and there is nothing to report; empty otherwise
    std::string id;     // of a replay
    bool drop = false;
    bool dry_run = false;
    std::optional<std::size_t> stop_above;
    ParkedOverview overview;         // the first look
    std::size_t undeliverable = 0;   // those to be dropped that cannot be handed over
    std::size_t left = 0;            // those to be replayed that cannot be handed over, and stay
    std::vector<std::string> notes;  // what goes another way than expected, and why
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
    /// All that was selected is gone, and no more failed than may.
    bool ok() const {
        if (!overview.complete()) return false;
        if (stop_above && failed() > *stop_above) return false;
        // A connection that was lost may have taken acks with it: their messages are there twice.
        for (const ParkedQueueResult& queue : queues) {
            if (!queue.run.fault.empty()) return false;
        }
        return dry_run || (done() == meant() && left == 0);
    }
};

void print_run_report(const ParkedRunReport& report, core::WallTime now, bool colour, std::ostream& out);
/// `with_texts`: of each queue also why it ended early, as people are told.
nlohmann::ordered_json json_of(const ParkedRunReport& report, bool with_texts = false);

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
    /// Of a drop, once it is known which messages are meant; empty: there is no question.
    std::function<bool(const ParkedRunReport& looked)> agreed = {};
};

/// Throws amqp::Error.
ParkedRunReport replay_or_drop(const config::Settings& settings, const ParkedOptions& options,
                               const ParkedRunOptions& run, const ParkedRunScene& scene);

/// Whether something says which messages are meant; a replay or a drop of all takes a word for that.
bool says_which(const ParkedOptions& options, const ParkedRunOptions& run);

/// Both return 0 when all that was selected is done; 1 where some stays, or more failed than may, or the broker refused
/// or cannot be reached; 64 where nothing says which messages are meant; 78 wrong configuration.
int parked_replay(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);
int parked_drop(const ParkedOptions& options, const ParkedRunOptions& run, std::ostream& out, std::ostream& err);

/// Replays what `retryd parked edit` has made of a message. `options.exactly` is the original, which stays where the
/// broker does not confirm. Returns as parked_replay; also 1 where the original is gone.
int replay_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                  const ParkedRunOptions& run, const EditedReplay& edited);

}  // namespace retryd::commands
