// Takes messages out of rungs: home as their rung would send them, or parked. For whoever asks, at a terminal or over
// HTTP.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admin/parked.h"
#include "commands/common/progress.h"
#include "commands/common/report.h"
#include "commands/parked/runner.h"
#include "commands/waiting/waiting_rungs.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::commands {

struct WaitingOptions {
    ReportOptions report;
    std::string from;   // a rung; empty: those of the configuration
    std::string queue;  // a work queue, or a glob
    std::string reason;
    std::optional<core::Milliseconds> older_than;  // since the first death
    std::optional<core::Milliseconds> newer_than;
    std::vector<admin::HeaderMatch> headers;
    std::string replay = {};  // sent last by this run of `parked replay`; no option says so

    // Of send and park.
    bool all = false;
    bool dry_run = false;
    std::optional<std::size_t> first;
    int per_second = 50;  // of send; 0: as fast as it goes
};

struct WaitingResult {
    std::string rung;
    std::size_t waiting = 0;   // at the start
    std::size_t selected = 0;  // of a dry run
    ParkedRunResult run;
};

struct WaitingReport {
    bool park = false;
    bool dry_run = false;
    bool stopped = false;  // by whoever asked for it
    std::string fault;     // why nothing was done at all
    std::vector<WaitingResult> results = {};
    std::set<std::string> notes = {};
    std::vector<std::string> not_seen = {};
    std::size_t done = 0;

    bool ok() const;
};

/// Looks, where that is needed to know which work queues are meant, then one rung after the other. Throws amqp::Error.
WaitingReport send_or_park(const config::Settings& settings, const WaitingOptions& options, bool park, StopSign stop,
                           Progress& progress);

/// The rungs that `options` mean, with what waits there.
struct WaitingList {
    WaitingRungs found;
    std::string fault;
};
WaitingList list_waiting(const config::Settings& settings, const WaitingOptions& options);

/// Whether something says which messages are meant.
bool says_which(const WaitingOptions& options);

/// Why it ended early, for people; empty where it did not.
std::string why_it_ended(const WaitingResult& result);

nlohmann::ordered_json json_of(const WaitingReport& report);
nlohmann::ordered_json json_of(const WaitingRungs& found);

}  // namespace retryd::commands
