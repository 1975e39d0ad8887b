// SIGINT and SIGTERM as something to poll for, so that a command can end in order.
#pragma once

#include <csignal>

namespace retryd::commands {

/// From its making to its end both signals are blocked and only seen here. One at a time.
class Interrupts {
  public:
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// Readable from the first signal on.
    int fd() const { return fd_; }
    bool seen() const;

  private:
    sigset_t before_{};
    int fd_ = -1;
};

}  // namespace retryd::commands
