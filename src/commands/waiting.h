// `retryd waiting list`, `send` and `park`: messages that wait on rungs are listed, sent home at once, or parked.
//
// A message taken from a rung stays unacked until it is somewhere else, and the broker expires nothing that a consumer
// has. So a message goes home either by its TTL or by this command, and twice only after a lost connection. Messages
// that are not selected go back to the rung at the end, and home at once if their delay is over.
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
    std::optional<std::size_t> messages;  // ready messages; nothing if the broker would or could not say
};

struct WaitingRungs {
    std::vector<WaitingRung> rungs;  // existing rungs, by name
    std::vector<std::string> notes;  // what could not be seen, one line each
};

struct WaitingOptions {
    ReportOptions report;
    std::string from;   // a rung; empty: those of the configuration
    std::string queue;  // a work queue, or a glob
    std::string reason;
    std::optional<core::Milliseconds> older_than;  // age since the first death
    std::optional<core::Milliseconds> newer_than;
    std::vector<admin::HeaderMatch> headers;
    std::string replay = {};  // last sent by this run of `parked replay`; the command line has no option for it

    // For send and park.
    bool all = false;
    bool dry_run = false;
    std::optional<std::size_t> first;
    int per_second = 50;  // for send; 0: no limit
};

struct WaitingResult {
    std::string rung;
    std::size_t waiting = 0;   // ready messages at the start
    std::size_t selected = 0;  // in a dry run
    ParkedRunResult run;
};

struct WaitingReport {
    bool park = false;
    bool dry_run = false;
    std::string fault;  // why nothing was done at all; empty if something was
    std::vector<WaitingResult> results = {};
    std::set<std::string> notes = {};
    std::vector<std::string> not_seen = {};
    std::size_t done = 0;
    bool all_counted = true;  // false: rungs of which it is not known whether messages wait there were left alone

    bool stopped() const;  // by the user, before the selected messages of every rung were reached
    bool ok() const;
};

/// First looks at the messages if that is needed to know their work queues, then processes one rung after the other.
/// Throws amqp::Error.
WaitingReport send_or_park(const config::Settings& settings, const WaitingOptions& options, bool park, StopSign stop,
                           Progress& progress);

/// The rungs that `options` select, with their messages.
struct WaitingList {
    WaitingRungs found;
    std::string fault;
};
WaitingList list_waiting(const config::Settings& settings, const WaitingOptions& options);

/// Whether the options say which messages are meant.
bool says_which(const WaitingOptions& options);

/// Why it ended early, for people; empty if it did not.
std::string why_it_ended(const WaitingResult& result);

nlohmann::ordered_json json_of(const WaitingReport& report);
nlohmann::ordered_json json_of(const WaitingRungs& found);

/// All return 0 if all went well; 1 if something was refused or not seen, or the broker cannot be reached; 64 if the
/// options do not say which messages are meant; 78 for a wrong configuration.
int waiting_list(const WaitingOptions& options, std::ostream& out, std::ostream& err);
int waiting_send(const WaitingOptions& options, std::ostream& out, std::ostream& err);
int waiting_park(const WaitingOptions& options, std::ostream& out, std::ostream& err);

/// The three commands on the command line.
class WaitingCommands {
  public:
    /// The command line keeps references into this object: it must not move until the command line has been read.
    void add_to(CLI::App& app);

    bool parsed() const;
    /// Runs the command that was asked for. `options`: those given before `waiting`; `--config` and `--json` after it
    /// take precedence.
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
