// What became of a replay or a drop, for people and for programs.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/parked/browser.h"
#include "commands/parked/runner.h"
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

}  // namespace retryd::commands
