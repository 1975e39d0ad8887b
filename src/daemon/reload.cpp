#include "daemon/reload.h"

#include "daemon/notify.h"

namespace retryd::daemon {

bool reload(const SessionContext& daemon) {
    notify_reloading();
    const bool taken = daemon.configuration.reload();
    Standing& standing = daemon.http.standing();
    if (taken) {
        daemon.http.follow();
        daemon.watchdog.allow(*daemon.configuration.current());
        standing.reloaded();
    } else {
        standing.reload_refused(daemon.configuration.path());
    }
    notify_ready(status_line(standing.now()));
    return taken;
}

}  // namespace retryd::daemon
