// `retryd status`: what waits on each rung, what is parked, and what the daemon tells of itself.
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

/// Messages that the broker holds on a rung: its work queue has not taken them.
struct HeldMessages {
    std::string rung;
    std::string serves;  // the work queue, or the ladder whose work queues share it
    std::uint64_t messages = 0;
    bool gone = false;  // the work queue does not exist
    bool operator==(const HeldMessages&) const = default;
};

struct StatusReport {
    BrokerIdentity broker;
    telemetry::QueueDepth errors;
    bool errors_known = true;  // else there may be any number
    telemetry::QueueDepth catch_all;
    std::vector<telemetry::RungStatus> detours;
    std::vector<telemetry::QueueStatus> queues;  // the busiest first
    std::vector<telemetry::LadderStatus> ladders;
    std::vector<HeldMessages> held;
    std::vector<telemetry::HeldStatus>
        outages;  // of the work queues whose messages may be held, and of others that have some
    std::optional<telemetry::Status> daemon;
    std::string no_daemon;              // why it does not answer, although it should
    std::vector<std::string> not_seen;  // each with what it takes
};

/// What of it is to be seen.
struct StatusView {
    enum class Order { messages, waiting, parked, name };

    std::string match = "*";  // a glob for work queues
    Order order = Order::messages;
    core::Milliseconds interval{2'000};  // between two looks
};

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs);
std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue);

/// Changes nothing. A rung counts with the one for high priorities. The work queues of globs are those of which the
/// management API knows a rung or a parking queue, and those that the daemon names. Throws amqp::Error when the
/// connection is lost.
/// `expected`: the configuration says where the daemon answers.
StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon,
                            bool expected = false);

/// Changes nothing. Returns 0, 1 where the broker cannot be reached, 78 on a wrong configuration. With `json`, `out`
/// has one object in every case.
int status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err);

/// Again and again until SIGINT or SIGTERM, and then 0; on a terminal in place. Goes on through losses of the
/// connection, and tells of them; only where it cannot be made at the start it returns 1. With `json` each object has
/// a line of its own.
int watch_status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err);

/// Those of its work queues that are to be seen, in that order.
void arrange(StatusReport& status, const StatusView& view);

/// Messages a second over the last minute, or over the whole series where that is shorter. `series`: messages in each
/// interval, the oldest first.
double per_second(const std::vector<std::uint64_t>& series, core::Milliseconds interval);

/// Aligned text: a table for each ladder, a column for each of its delays; `colour` sets the headings off. Where many
/// queues are quiet they are told in one line.
void print_status(const StatusReport& status, bool colour, std::ostream& out);

/// One object, `"ok": true` first; `messages` is null where the queue is not there. On one line where `one_line`.
void print_status_json(const StatusReport& status, bool one_line, std::ostream& out);

}  // namespace retryd::commands
