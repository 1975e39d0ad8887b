// `retryd run`: the daemon, in the foreground.
#pragma once

#include <string>

#include "core/time.h"

namespace retryd::daemon {

// A latch between two threads: something is over.

/// A latch with a file descriptor, so that a poll() on sockets wakes for it too. Thread-safe.
class StopLatch {
  public:
    StopLatch();
    ~StopLatch();
    StopLatch(const StopLatch&) = delete;
    StopLatch& operator=(const StopLatch&) = delete;

    void request();
    bool requested() const { return wait(core::Milliseconds::zero()); }

    /// Waits until it is requested (true) or the time is over (false).
    bool wait(core::Milliseconds time) const;

    /// Readable from the request on, for ever.
    int fd() const { return fd_; }

  private:
    int fd_;
};

/// Returns the exit code: 0 after a stop by SIGTERM or SIGINT, 78 on a wrong configuration (its problems are on
/// standard error), 1 if it could not listen where `http:` says, or could not leave in time.
int run(const std::string& config_path);

}  // namespace retryd::daemon
