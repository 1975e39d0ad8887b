#include "amqp/amqp10/byte_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "amqp/connect.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "amqp/tls/socket.h"

namespace retryd::amqp::amqp10 {
namespace {

[[noreturn]] void lost(const std::string& why) {
    throw Error(Error::Kind::lost, "the AMQP 1.0 connection was lost: " + why);
}

bool is_for_later(int cause) {
    return cause == EAGAIN || cause == EWOULDBLOCK || cause == EINTR;
}

}  // namespace

ByteStream::ByteStream(const config::Endpoint& endpoint, const config::Broker& settings)
    : connection_(open_socket(endpoint, settings)),
      stream_(endpoint.tls ? tls_stream(amqp_get_socket(connection_.get())) : nullptr) {}

void ByteStream::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = stream_ != nullptr ? send_through(stream_, bytes)
                                                : send(amqp_get_sockfd(connection_.get()), bytes.data(), bytes.size(),
                                                       MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (is_for_later(errno)) {
            require(POLLOUT);
        } else {
            lost(std::strerror(errno));
        }
    }
}

/// Takes in what is there. False: nothing is.
bool ByteStream::take_in() {
    constexpr std::size_t at_once = 65'536;
    const std::size_t before = ahead_.size();
    ahead_.resize(before + at_once);
    char* const to = ahead_.data() + before;
    const ssize_t got = stream_ != nullptr ? receive_through(stream_, to, at_once)
                                           : recv(amqp_get_sockfd(connection_.get()), to, at_once, MSG_DONTWAIT);
    const int cause = errno;
    ahead_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return true;
    if (got == 0) lost("the broker closed it");
    if (!is_for_later(cause)) lost(std::strerror(cause));
    return false;
}

std::string ByteStream::read(std::size_t size) {
    while (ahead_.size() < size) {
        if (!take_in()) require(POLLIN);
    }
    std::string bytes = ahead_.substr(0, size);
    ahead_.erase(0, size);
    return bytes;
}

bool ByteStream::readable(core::Milliseconds within) {
    return !ahead_.empty() || take_in() || (wait(POLLIN, within) && take_in());
}

bool ByteStream::wait(short events, core::Milliseconds within) const {
    pollfd waiting{amqp_get_sockfd(connection_.get()), events, 0};
    return poll(&waiting, 1, static_cast<int>(within.count())) > 0;
}

void ByteStream::require(short events) const {
    if (!wait(events, answer_timeout))
        lost("the broker has not answered for " + std::to_string(answer_timeout.count() / 1'000) + " s");
}

}  // namespace retryd::amqp::amqp10
