// `retryd check`: reads the configuration and prints what it means, or everything that is wrong with it. With
// `--schema` it prints the JSON Schema and reads no file. Talks to no broker.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "commands/common/report.h"
#include "config/settings.h"
#include "core/policy.h"

namespace retryd::commands {

// ── The schedule ────────────────────────────────────────────────────────────────────────────────────────────────────
//
// What an entry of the configuration does with a message: how long it waits in which queue after each failure. And how
// many queues all entries together need on the broker.

/// One of the queues of a step.
struct Lane {
    core::Milliseconds delay{};
    std::string queue;  // the rung; with {queue} in it if the entry is a glob and its rungs are not shared
};

/// Consecutive failures that wait on the same rung.
struct ScheduleStep {
    std::size_t first = 1;  // the number of the first failure, counted from 1
    std::size_t last = 1;
    core::Milliseconds delay{};
    std::vector<Lane> lanes;  // the shortest delay first, the step's own delay last; without jitter only that one
};

std::vector<ScheduleStep> retry_schedule(const core::Entry& entry);

/// The parking queue, with {queue} in it if the entry is a glob; empty if the entry parks through an exchange.
std::string parking_queue(const core::Entry& entry);

/// The sum of all waits of a message that is parked in the end: at most, and at least if jitter takes the shortest lane
/// each time.
core::Milliseconds total_wait(const core::Ladder& ladder);
core::Milliseconds least_wait(const core::Ladder& ladder);

struct QueueCount {
    /// For each queue that a glob matches.
    struct PerMatch {
        std::string match;
        std::size_t queues = 0;
    };
    /// Queues with known names: the error queue, the catch-all, the detours, those of exact entries, shared rungs.
    std::size_t fixed = 0;
    std::vector<PerMatch> per_match;  // for globs that add queues, in the order of the entries
};

/// Does not count the second rungs that RabbitMQ 4.0 to 4.2 needs for high priorities: they depend on the messages.
QueueCount count_queues(const core::Policy& policy);

// ── The command ─────────────────────────────────────────────────────────────────────────────────────────────────────

/// Returns 0, or 78 if the configuration is wrong; then `err` has its problems, one on each line, and their number in
/// the last line. With `json`, `out` has one object in either case, with `ok` and, if wrong, `problems`. Prints no
/// credentials.
int check(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Aligned text without credentials: the brokers, where failures arrive, each entry with its schedule, and the number
/// of queues. `colour` makes the headings bold.
void print_check(const config::Settings& settings, const std::string& file, bool all, bool colour, std::ostream& out);

/// `retryd check --schema`, for editors: a schema of draft 7, made from the description of the keys (config/keys.h).
/// Loading checks more than a schema can express: rules about two keys at once, and the bounds of durations and sizes.
void print_schema(std::ostream& out);

}  // namespace retryd::commands
