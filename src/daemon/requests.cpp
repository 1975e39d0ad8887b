#include "daemon/requests.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace retryd::daemon {

Requests::Requests() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Requests::~Requests() {
    close(fd_);
}

void Requests::wake() const {
    const std::uint64_t one = 1;
    // Fails only when the counter is full: readable long since.
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

void Requests::stop() {
    stopping_ = true;
    wake();
}

void Requests::reload() {
    reload_ = true;
    wake();
}

/// The wake-up first, also where it finds nothing asked for: reload() may have been taken between its two steps, and a
/// descriptor left readable would keep the loop turning. What comes after the read wakes again.
bool Requests::take_reload() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = read(fd_, &count, sizeof count);
    if (stopping_) wake();
    return reload_.exchange(false);
}

bool Requests::wait(core::Milliseconds time) const {
    pollfd poll_fd{fd_, POLLIN, 0};
    return poll(&poll_fd, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace retryd::daemon
