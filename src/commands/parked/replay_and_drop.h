// `retryd parked replay` and `retryd parked drop`: a look first, then what is selected goes.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "commands/parked/browser.h"
#include "commands/parked/run.h"

namespace retryd::commands {

struct ParkedRunOptions {
    bool all = false;
    bool dry_run = false;
    std::optional<std::size_t> first;

    // Of replay.
    std::string to;                              // empty: each to its own work queue
    int per_second = 50;                         // 0: as fast as it goes
    std::optional<std::size_t> stop_above = 10;  // failures; absent: whatever fails

    bool yes = false;  // of drop: do not ask
};

/// One queue, cleared.
struct ParkedQueueResult {
    std::string name;
    std::size_t selected = 0;  // by the first look
    ParkedRunResult cleared;
};

struct ParkedRunReport {
    std::string id;  // of the run
    bool drop = false;
    bool dry_run = false;
    ParkedOverview survey;
    std::vector<std::string> notes;  // what goes another way than expected, and why
    std::vector<ParkedQueueResult> queues;

    std::size_t done() const;
    std::size_t failed() const;
    /// All that was selected is gone, and no more failed than may.
    bool ok() const;
    std::optional<std::size_t> stop_above;
};

/// Both return 0 when all that was selected is done; 1 where some stays, or more failed than may, or the broker refused
/// or cannot be reached; 64 where nothing is selected on purpose; 78 wrong configuration.
int parked_replay(const ParkedOptions& options, const ParkedRunOptions& clear, std::ostream& out, std::ostream& err);
int parked_drop(const ParkedOptions& options, const ParkedRunOptions& clear, std::ostream& out, std::ostream& err);

void print_run_report(const ParkedRunReport& report, const ParkedBrowser& browser, bool colour, std::ostream& out);
void print_run_report_json(const ParkedRunReport& report, std::ostream& out);

}  // namespace retryd::commands
