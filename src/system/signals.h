// Signals of the process as something to wait for and to poll, so that the daemon and the commands end in order instead
// of being killed in the middle of their work.
#pragma once

#include <csignal>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/time.h"

namespace retryd::system {

/// From construction to destruction the given signals are blocked, in this thread and in those that it starts, and are
/// only seen here. One object at a time. The destructor discards what has come and restores the previous mask.
class Signals {
  public:
    /// Throws std::system_error.
    Signals(std::initializer_list<int> signals);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// Readable while a signal has come that wait() has not taken.
    int fd() const { return fd_; }

    /// Whether a signal has come that wait() has not taken.
    bool pending() const;

    /// Takes a signal that has come, or the next one that comes within that time, and returns its number. Returns 0 if
    /// none comes, or as soon as `other_fd` is readable.
    int wait(core::Milliseconds time, int other_fd = -1) const;

    /// While this lives the signals are delivered to `handler` at once, in this thread. For work that cannot poll.
    class Delivered {
      public:
        Delivered(const Signals& signals, void (*handler)(int));
        ~Delivered();
        Delivered(const Delivered&) = delete;
        Delivered& operator=(const Delivered&) = delete;

      private:
        const Signals& signals_;
        std::vector<std::pair<int, struct sigaction>> actions_before_;
    };

  private:
    sigset_t set_{};
    sigset_t mask_before_{};
    int fd_ = -1;
};

}  // namespace retryd::system
