// Session after session: connects, runs, and after a fault waits and connects again, over all brokers in turn.
#pragma once

#include <map>
#include <string>

#include "config/settings.h"
#include "core/time.h"
#include "daemon/session.h"

namespace retryd::daemon {

// How long to wait before the next try: doubling from first to max, spread by a dice roll that is an argument.

class Backoff {
  public:
    explicit Backoff(const config::Reconnect& settings) : settings_(settings), next_(settings.first) {}

    /// `dice` lies in [0, 1): the wait is between half of the full one and the full one, so that many daemons that
    /// lost the same broker do not come back at once.
    core::Milliseconds next(double dice);

    /// After a success: the next wait is the first again.
    void reset() { next_ = settings_.first; }

  private:
    config::Reconnect settings_;
    core::Milliseconds next_;
};

// Which faults have been said already: a lasting one is said once, and again only when it changes or has healed.

class ReportedFaults {
  public:
    /// Whether this is something new about that broker. Each broker of a list has a fault of its own.
    bool is_news(const std::string& broker, const std::string& fault);

    void healed() { last_.clear(); }

  private:
    std::map<std::string, std::string> last_;
};

/// Returns when a stop is requested and the last session has ended. Never throws: a fault of the broker or the network
/// is logged once when it begins and once when it is over, and tried again.
void supervise(const SessionContext& context);

}  // namespace retryd::daemon
