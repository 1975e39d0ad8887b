// `retryd status`: one look at what waits and what is parked, or one after the other.
#pragma once

#include <iosfwd>
#include <string>

#include "commands/common/report.h"
#include "commands/status/collect_status.h"
#include "core/time.h"

namespace retryd::commands {

/// Which part of the status to show.
struct StatusView {
    enum class Order { messages, waiting, parked, name };

    std::string match = "*";  // a glob for work queues
    Order order = Order::messages;
    core::Milliseconds interval{2'000};  // between two updates
};

/// Changes nothing. Returns 0; 1 if the broker cannot be reached; 78 for a wrong configuration. With `json`, `out` has
/// one object in every case.
int status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err);

/// Repeats until SIGINT or SIGTERM and then returns 0; redraws in place on a terminal. Continues after a lost
/// connection, and says so; returns 1 only if the first connection fails. With `json`, each object is on a line of its
/// own.
int watch_status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err);

/// Keeps the work queues that `view` selects, in its order.
void arrange(StatusReport& status, const StatusView& view);

}  // namespace retryd::commands
