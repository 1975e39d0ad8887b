// `retryd waiting list`, `send` and `park`: what waits on rungs for its next try, sent home at once or parked.
//
// What is taken out of a rung is unacked until it is elsewhere, and the broker lets nothing expire that a consumer has:
// a message either goes home by its TTL before it is taken, or by this command, and never twice but after a lost
// connection. What is not selected goes back to the rung at the end, and home at once if its time is over.
#pragma once

#include <iosfwd>

#include "commands/waiting/waiting_run.h"

namespace retryd::commands {

/// All return 0 when all went well, 1 where something was refused, not seen, or the broker cannot be reached; 64 where
/// nothing says which messages are meant; 78 wrong configuration.
int waiting_list(const WaitingOptions& options, std::ostream& out, std::ostream& err);
int waiting_send(const WaitingOptions& options, std::ostream& out, std::ostream& err);
int waiting_park(const WaitingOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
