#include "system/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "system/clock.h"

namespace retryd::system {

Signals::Signals(std::initializer_list<int> signals) {
    sigemptyset(&set_);
    for (const int signal : signals)
        sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &mask_before_);
    fd_ = signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

/// A signal that has come and was not taken would end the process as soon as it is no longer blocked.
Signals::~Signals() {
    while (wait(core::Milliseconds::zero()) != 0) {
    }
    close(fd_);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool Signals::pending() const {
    pollfd readable{fd_, POLLIN, 0};
    return poll(&readable, 1, 0) > 0;
}

int Signals::wait(core::Milliseconds time, int other_fd) const {
    const auto deadline = std::chrono::steady_clock::now() + time;
    std::array fds{pollfd{fd_, POLLIN, 0}, pollfd{other_fd, POLLIN, 0}};
    int ready = 0;
    do {
        const auto left = std::max(left_until(deadline), core::Milliseconds::zero());
        ready = poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    } while (ready < 0 && errno == EINTR);
    signalfd_siginfo info{};
    if (ready <= 0 || fds[0].revents == 0 || read(fd_, &info, sizeof info) != sizeof info) return 0;
    return static_cast<int>(info.ssi_signo);
}

Signals::Delivered::Delivered(const Signals& signals, void (*handler)(int)) : signals_(signals) {
    struct sigaction action {};
    action.sa_handler = handler;
    for (int signal = 1; signal < NSIG; ++signal) {
        if (sigismember(&signals_.set_, signal) != 1) continue;
        sigaction(signal, &action, &actions_before_.emplace_back(signal, action).second);
    }
    pthread_sigmask(SIG_UNBLOCK, &signals_.set_, nullptr);
}

Signals::Delivered::~Delivered() {
    pthread_sigmask(SIG_BLOCK, &signals_.set_, nullptr);
    for (const auto& [signal, action] : actions_before_)
        sigaction(signal, &action, nullptr);
}

}  // namespace retryd::system
