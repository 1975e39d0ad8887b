// A latch between two threads: something is over.
#pragma once

#include "core/time.h"

namespace retryd::daemon {

/// A latch with a file descriptor, so that a poll() on sockets wakes for it too. Thread-safe.
class Stop {
  public:
    Stop();
    ~Stop();
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    void request();
    bool requested() const { return wait(core::Milliseconds::zero()); }

    /// Waits until it is requested (true) or the time is over (false).
    bool wait(core::Milliseconds time) const;

    /// Readable from the request on, for ever.
    int fd() const { return fd_; }

  private:
    int fd_;
};

}  // namespace retryd::daemon
