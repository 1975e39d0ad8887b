// How long to wait before the next try: doubling from first to max, spread by a dice roll that is an argument.
#pragma once

#include "config/settings.h"
#include "core/time.h"

namespace retryd::daemon {

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

}  // namespace retryd::daemon
