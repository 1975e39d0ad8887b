#include "daemon/requests.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace retryd::daemon {

EventFd::EventFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

EventFd::~EventFd() {
    close(fd_);
}

void EventFd::signal() const {
    const std::uint64_t one = 1;
    // Fails only when the counter is full: then it is readable already.
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

void EventFd::clear() const {
    std::uint64_t count = 0;
    // Fails only if it was not signalled.
    [[maybe_unused]] const auto taken = read(fd_, &count, sizeof count);
}

bool EventFd::wait(core::Milliseconds time) const {
    pollfd poll_fd{fd_, POLLIN, 0};
    return poll(&poll_fd, 1, static_cast<int>(time.count())) > 0;
}

void Requests::stop() {
    stopping_ = true;
    event_.signal();
}

void Requests::reload() {
    reload_ = true;
    event_.signal();
}

/// Clears the event even if there is no reload to take: a call before may have taken it between the two steps of
/// reload(), and an event that stays signalled would make the loop spin. A request after clear() signals again.
bool Requests::take_reload() {
    event_.clear();
    if (stopping_) event_.signal();
    return reload_.exchange(false);
}

}  // namespace retryd::daemon
