// `retryd waiting list`, `send` and `park`: what waits on rungs for its next try, sent home at once or parked.
//
// What is taken out of a rung is unacked until it is elsewhere, and the broker lets nothing expire that a consumer has:
// a message either goes home by its TTL before it is taken, or by this command, and never twice but after a lost
// connection. What is not selected goes back to the rung at the end, and home at once if its time is over.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admin/parked.h"
#include "commands/common/broker.h"
#include "commands/common/progress.h"
#include "commands/common/report.h"
#include "commands/parked/runner.h"
#include "config/settings.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/time.h"

namespace CLI {
class App;
}

namespace retryd::commands {

struct WaitingRung {
    std::string queue;
    core::ParsedRung rung;
    std::size_t messages = 0;  // ready
};

struct WaitingRungs {
    std::vector<WaitingRung> rungs;  // that are there, by name
    std::vector<std::string> notes;  // what could not be seen; one line each
};

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

/// All return 0 when all went well, 1 where something was refused, not seen, or the broker cannot be reached; 64 where
/// nothing says which messages are meant; 78 wrong configuration.
int waiting_list(const WaitingOptions& options, std::ostream& out, std::ostream& err);
int waiting_send(const WaitingOptions& options, std::ostream& out, std::ostream& err);
int waiting_park(const WaitingOptions& options, std::ostream& out, std::ostream& err);

/// Three commands for what waits on rungs.
class WaitingCommands {
  public:
    /// Keeps references into itself: it stays where it is until the command line is read.
    void add_to(CLI::App& app);

    bool parsed() const;
    /// Runs the one that was asked for. `options`: those before the command; `--config` and `--json` behind it win.
    int run(const ReportOptions& options, std::ostream& out, std::ostream& err) const;

  private:
    CLI::App* add_command(const std::string& name, const std::string& what);
    void add_selectors(CLI::App& command);

    CLI::App* waiting_ = nullptr;
    CLI::App* list_ = nullptr;
    CLI::App* send_ = nullptr;
    CLI::App* park_ = nullptr;

    std::string config_path_;
    bool json_ = false;
    WaitingOptions options_;
    std::vector<std::string> headers_;
    std::string older_than_;
    std::string newer_than_;
    std::size_t first_ = 0;
    std::string rate_ = "50";
};

}  // namespace retryd::commands
