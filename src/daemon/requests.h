// How the daemon's threads wake each other: for requests by signals, and for the end of the daemon. Both have a file
// descriptor, so a poll() on sockets can wait for them too.
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
    /// Waits until it is signalled (true), at most for that time (false).
    bool wait(core::Milliseconds time) const;
    int get() const { return fd_; }

  private:
    int fd_;
};

/// Signals the end of something, for good. Thread-safe.
class StopLatch {
  public:
    void request() { event_.signal(); }
    bool requested() const { return wait(core::Milliseconds::zero()); }

    /// Waits until it is requested (true) or the time is over (false).
    bool wait(core::Milliseconds time) const { return event_.wait(time); }

    /// Readable once it was requested.
    int fd() const { return event_.get(); }

  private:
    EventFd event_;
};

/// Requests by signals, passed from the thread that receives them to the one that talks to the broker. Thread-safe.
class Requests {
  public:
    /// Cannot be undone.
    void stop();
    bool stopping() const { return stopping_; }

    /// Several requests before it is taken are one reload.
    void reload();
    /// Whether a reload was requested; true once for each.
    bool take_reload();

    /// Waits until something is asked for (true) or the time is over (false).
    bool wait(core::Milliseconds time) const { return event_.wait(time); }

    /// Readable while a reload is pending, and from stop() on.
    int fd() const { return event_.get(); }

  private:
    EventFd event_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> reload_ = false;
};

}  // namespace retryd::daemon
