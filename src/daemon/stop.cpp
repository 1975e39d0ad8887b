#include "daemon/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace retryd::daemon {

Stop::Stop() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Stop::~Stop() {
    close(fd_);
}

void Stop::request() {
    const std::uint64_t one = 1;
    // Fails only when the counter is full: requested long ago.
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

bool Stop::wait(core::Milliseconds time) const {
    pollfd poll_fd{fd_, POLLIN, 0};
    return poll(&poll_fd, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace retryd::daemon
