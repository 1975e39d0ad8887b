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

bool Requests::take_reload() {
    if (!reload_.exchange(false)) return false;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = read(fd_, &count, sizeof count);
    // What came in between must not be slept through.
    if (stopping_ || reload_) wake();
    return true;
}

bool Requests::wait(core::Milliseconds time) const {
    pollfd poll_fd{fd_, POLLIN, 0};
    return poll(&poll_fd, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace retryd::daemon
