// What SIGHUP asks for, whatever the daemon is doing at that moment.
#pragma once

#include "daemon/session.h"

namespace retryd::daemon {

/// Reads the file again; HTTP, the watchdog, systemd and the status page hear how it went. True: another configuration
/// is current, and whoever works by the former one has to take it up.
bool reload(const SessionContext& daemon);

}  // namespace retryd::daemon
