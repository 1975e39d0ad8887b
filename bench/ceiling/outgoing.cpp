#include "ceiling/outgoing.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include "support/tables.h"

namespace retryd::bench::ceiling {

namespace {

constexpr std::size_t frame_overhead = 8;  // type, channel, size; end
constexpr std::string_view frame_end{"\xce", 1};
/// Sent together.
constexpr std::size_t enough = std::size_t{64} * 1024;
/// A body beyond this is sent from where it lies: one more call into the kernel costs less than a copy.
constexpr std::size_t largest_copy = std::size_t{16} * 1024;

template <std::size_t Bytes>
std::array<char, Bytes> number(std::uint64_t value) {
    std::array<char, Bytes> bytes{};
    for (std::size_t i = 0; i < Bytes; ++i)
        bytes[i] = static_cast<char>(value >> (8 * (Bytes - 1 - i)));
    return bytes;
}

template <std::size_t Bytes>
std::string_view view(const std::array<char, Bytes>& bytes) {
    return {bytes.data(), bytes.size()};
}

}  // namespace

Outgoing::Outgoing(Connection& connection, const std::string& exchange, const std::string& key)
    : connection_(connection),
      largest_fragment_(static_cast<std::size_t>(amqp_get_frame_max(connection.state())) - frame_overhead) {
    constexpr amqp_boolean_t mandatory = 1;
    amqp_basic_publish_t method{0, test::bytes_of(exchange), test::bytes_of(key), mandatory, 0};
    std::array<char, 1024> arguments{};
    const int size = amqp_encode_method(AMQP_BASIC_PUBLISH_METHOD, &method, {arguments.size(), arguments.data()});
    if (size < 0) throw std::runtime_error("the name of the rung is too long");
    add_head(AMQP_FRAME_METHOD, 4 + static_cast<std::size_t>(size));
    add(view(number<4>(AMQP_BASIC_PUBLISH_METHOD)));
    add({arguments.data(), static_cast<std::size_t>(size)});
    add(frame_end);
    method_.assign(bytes_.begin(), bytes_.end());
    bytes_.clear();
}

void Outgoing::add_head(int type, std::size_t payload_size) {
    add(view(number<1>(static_cast<std::uint64_t>(type))));
    add(view(number<2>(channel)));
    add(view(number<4>(payload_size)));
}

void Outgoing::publish(const Delivery& delivery) {
    add(method_);
    add_header(delivery);
    add_body(delivery.body);
    if (bytes_.size() >= enough) flush();
}

void Outgoing::add_header(const Delivery& delivery) {
    constexpr std::size_t fixed = 12;  // class, weight, body size
    add_head(AMQP_FRAME_HEADER, fixed + delivery.properties.size());
    add(view(number<2>(AMQP_BASIC_CLASS)));
    add(view(number<2>(0)));
    add(view(number<8>(delivery.body.size())));
    add(delivery.properties);
    add(frame_end);
}

void Outgoing::add_body(std::string_view body) {
    const bool copied = body.size() <= largest_copy;
    for (; !body.empty(); body.remove_prefix(std::min(body.size(), largest_fragment_))) {
        const std::string_view fragment = body.substr(0, largest_fragment_);
        add_head(AMQP_FRAME_BODY, fragment.size());
        if (copied) {
            add(fragment);
        } else {
            flush_with(fragment);
        }
        add(frame_end);
    }
}

void Outgoing::flush_with(std::string_view fragment) {
    constexpr int for_ever = -1;
    std::array parts{std::string_view{bytes_.data(), bytes_.size()}, fragment};
    while (!parts[0].empty() || !parts[1].empty()) {
        std::array<iovec, 2> vectors{};
        for (std::size_t i = 0; i < parts.size(); ++i)
            vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
        msghdr message{};
        message.msg_iov = vectors.data();
        message.msg_iovlen = vectors.size();
        const ssize_t sent = sendmsg(connection_.fd(), &message, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            pollfd full{connection_.fd(), POLLOUT, 0};
            poll(&full, 1, for_ever);
        } else if (sent < 0 && errno != EINTR) {
            throw std::runtime_error("the broker takes no more publications: the connection is broken");
        }
        auto left = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
        for (std::string_view& part : parts) {
            const std::size_t taken = std::min(left, part.size());
            part.remove_prefix(taken);
            left -= taken;
        }
    }
    bytes_.clear();
}

}  // namespace retryd::bench::ceiling
