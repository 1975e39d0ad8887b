// `retryd status`: the messages on each rung and in the parking queues, and what the daemon reports about itself.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/daemon.h"
#include "commands/common/report.h"
#include "core/policy.h"
#include "core/time.h"
#include "telemetry/status.h"

namespace retryd::commands {

/// Messages that stay on a rung because their work queue has not taken them.
struct HeldMessages {
    std::string rung;
    std::string serves;  // the work queue; for a shared rung, the ladder
    std::uint64_t messages = 0;
    bool gone = false;  // the work queue does not exist
    bool operator==(const HeldMessages&) const = default;
};

struct StatusReport {
    BrokerIdentity broker;
    telemetry::QueueDepth errors;
    bool errors_unconsumed = false;  // although the daemon runs: then there may be any number
    telemetry::QueueDepth catch_all;
    std::vector<telemetry::RungStatus> detours;
    std::vector<telemetry::QueueStatus> queues;  // the busiest first
    std::vector<telemetry::LadderStatus> ladders;
    std::vector<HeldMessages> held;
    std::vector<telemetry::HeldStatus>
        outages;  // for work queues whose messages may be held, and for others that have held messages
    std::optional<telemetry::Status> daemon;
    std::string no_daemon;                // why the daemon does not answer, although it is configured to
    std::vector<std::string> leaderless;  // queues of which no number is known, for they have no leader now
    std::vector<std::string> not_seen;    // what could not be seen, each with what it takes to see it
};

/// Which part of the status to show.
struct StatusView {
    enum class Order { messages, waiting, parked, name };

    std::string match = "*";  // a glob for work queues
    Order order = Order::messages;
    core::Milliseconds interval{2'000};  // between two updates
};

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs);
std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue);
/// Nothing waits and nothing is parked, as far as is known.
bool is_quiet(const telemetry::QueueStatus& queue);

/// Changes nothing. The rung for high priorities is counted with its ordinary rung. For globs, the work queues are
/// those of which the management API lists a rung or a parking queue, and those that the daemon names. `expected`: the
/// configuration says where the daemon answers. Throws amqp::Error when the connection is lost.
StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon,
                            bool expected = false);

/// Changes nothing. Returns 0; 1 if the broker cannot be reached; 78 for a wrong configuration. With `json`, `out` has
/// one object in every case.
int status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err);

/// Repeats until SIGINT or SIGTERM and then returns 0; redraws in place on a terminal. Continues after a lost
/// connection, and says so; returns 1 only if the first connection fails. With `json`, each object is on a line of its
/// own.
int watch_status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err);

/// Keeps the work queues that `view` selects, in its order.
void arrange(StatusReport& status, const StatusView& view);

/// Messages a second over the last minute, or over the whole series if that is shorter. `series`: messages in each
/// interval, the oldest first.
double per_second(const std::vector<std::uint64_t>& series, core::Milliseconds interval);

/// Aligned text: a table for each ladder with a column for each of its delays; `colour` makes the headings bold. If
/// many queues have nothing to show, they are summed up in one line.
void print_status(const StatusReport& status, bool colour, std::ostream& out);

/// One object, `"ok": true` first; `messages` is null if the queue does not exist, and also, with `"unknown": true`, if
/// nobody knows how many there are. On a single line if `one_line`.
void print_status_json(const StatusReport& status, bool one_line, std::ostream& out);

}  // namespace retryd::commands
