// What signals ask for, passed from the thread that takes them to the one that talks to the broker.
#pragma once

#include <atomic>

#include "core/time.h"

namespace retryd::daemon {

/// With a file descriptor, so that a poll() on sockets wakes for it too. Thread-safe.
class Requests {
  public:
    Requests();
    ~Requests();
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    /// For ever.
    void stop();
    bool stopping() const { return stopping_; }

    /// Several that nobody has taken are one.
    void reload();
    /// Whether the configuration is to be read again; asked for once, true once.
    bool take_reload();

    /// Waits until something is asked for (true) or the time is over (false).
    bool wait(core::Milliseconds time) const;

    /// Readable while a reload waits to be taken, and from the request to stop on.
    int fd() const { return fd_; }

  private:
    void wake() const;

    int fd_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> reload_ = false;
};

}  // namespace retryd::daemon
