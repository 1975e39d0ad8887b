// Session after session: connects, runs, and after a fault waits and connects again, to all brokers of the list in
// turn.
#pragma once

#include <map>
#include <string>

#include "config/settings.h"
#include "core/time.h"
#include "daemon/session.h"

namespace retryd::daemon {

/// How long to wait before the next attempt to connect: doubles from `first` to `max`.
class Backoff {
  public:
    explicit Backoff(const config::Reconnect& settings) : settings_(settings), next_(settings.first) {}

    /// `random` lies in [0, 1), and the wait between half of the full one and the full one: many daemons that lost the
    /// same broker do not come back all at once.
    core::Milliseconds next(double random);

    /// After a success: the next wait is the first again.
    void reset() { next_ = settings_.first; }

  private:
    config::Reconnect settings_;
    core::Milliseconds next_;
};

/// Which faults were logged already: one that lasts is logged once, and again only when it changes or was over
/// meanwhile.
class ReportedFaults {
  public:
    /// True if this is not the fault that was last reported for that broker. Each broker of a list has a fault of its
    /// own.
    bool is_news(const std::string& broker, const std::string& fault);

    void healed() { last_.clear(); }

  private:
    std::map<std::string, std::string> last_;
};

/// Returns when a stop is requested and the last session has ended. No fault of the broker or the network ends it:
/// each is logged when it begins, and when a connection is there again. All that `context` refers to must outlive this
/// call.
void supervise(const SessionContext& context);

}  // namespace retryd::daemon
