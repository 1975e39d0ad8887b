#include "commands/common/interrupts.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace retryd::commands {

Interrupts::Interrupts() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

/// What was seen is taken, or it would end the process now.
Interrupts::~Interrupts() {
    signalfd_siginfo taken{};
    while (read(fd_, &taken, sizeof taken) == sizeof taken) {
    }
    close(fd_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupts::seen() const {
    pollfd readable{fd_, POLLIN, 0};
    return poll(&readable, 1, 0) > 0;
}

}  // namespace retryd::commands
