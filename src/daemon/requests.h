// How the threads of the daemon wake each other: what signals ask for, and that the daemon has ended. Both have a file
// descriptor, so that a poll() on sockets wakes for them too.
#pragma once

#include <atomic>

#include "core/time.h"

namespace retryd::daemon {

/// An eventfd: readable from signal() until clear(). Thread-safe.
class EventFd {
  public:
    EventFd();
    ~EventFd();
    EventFd(const EventFd&) = delete;
    EventFd& operator=(const EventFd&) = delete;

    void signal() const;
    void clear() const;
    /// Waits until it is signalled (true) or the time is over (false).
    bool wait(core::Milliseconds time) const;
    int get() const { return fd_; }

  private:
    int fd_;
};

/// Something is over, for good. Thread-safe.
class StopLatch {
  public:
    void request() { event_.signal(); }
    bool requested() const { return wait(core::Milliseconds::zero()); }

    /// Waits until it is requested (true) or the time is over (false).
    bool wait(core::Milliseconds time) const { return event_.wait(time); }

    /// Readable from the request on.
    int fd() const { return event_.get(); }

  private:
    EventFd event_;
};

/// What signals ask for, passed from the thread that takes them to the one that talks to the broker. Thread-safe.
class Requests {
  public:
    /// For good.
    void stop();
    bool stopping() const { return stopping_; }

    /// Asked for several times before it is taken, it is one reload.
    void reload();
    /// Whether a reload was asked for; true once for each.
    bool take_reload();

    /// Waits until something is asked for (true) or the time is over (false).
    bool wait(core::Milliseconds time) const { return event_.wait(time); }

    /// Readable while a reload waits to be taken, and from the request to stop on.
    int fd() const { return event_.get(); }

  private:
    EventFd event_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> reload_ = false;
};

}  // namespace retryd::daemon
