#include "amqp/frame_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/reply_code.h"

namespace retryd::amqp {
namespace {

constexpr std::chrono::milliseconds farewell{1000};
constexpr int large_frame = 16 * 1024 * 1024;  // no memory is taken before such a frame comes

template <std::size_t Bytes>
void write_number(char* to, std::uint64_t number) {
    for (std::size_t i = 0; i < Bytes; ++i)
        to[i] = static_cast<char>(number >> (8 * (Bytes - 1 - i)));
}

/// Milliseconds since the kernel got data from the peer; 0 where it does not tell.
std::chrono::milliseconds silence(int fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
    return std::chrono::milliseconds(info.tcpi_last_data_recv);
}

bool ready(int fd, short events, std::chrono::milliseconds patience) {
    pollfd waiting{fd, events, 0};
    return poll(&waiting, 1, static_cast<int>(patience.count())) > 0;
}

using Parts = std::array<std::string_view, 3>;

ssize_t send_parts(int fd, const Parts& parts) {
    std::array<iovec, std::tuple_size_v<Parts>> vectors{};
    for (std::size_t i = 0; i < parts.size(); ++i)
        vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = vectors.size();
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

void take_off(Parts& parts, std::size_t sent) {
    for (std::string_view& part : parts) {
        const std::size_t taken = std::min(sent, part.size());
        part.remove_prefix(taken);
        sent -= taken;
    }
}

std::string seconds_text(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::round<std::chrono::seconds>(time).count()) + " s";
}

std::string describe(int status, std::chrono::seconds heartbeat) {
    const int cause = errno;
    if (status == AMQP_STATUS_HEARTBEAT_TIMEOUT) {
        return "nothing was heard from the broker for " + seconds_text(2 * heartbeat);
    }
    std::string text = amqp_error_string2(status);
    if (status == AMQP_STATUS_SOCKET_ERROR && cause != 0) text += std::string{" ("} + std::strerror(cause) + ')';
    return text;
}

}  // namespace

// ── FrameBuffer ─────────────────────────────────────────────────────────────────────────────────────────────────

char* FrameBuffer::room_for(std::size_t bytes) {
    if (room_.size() < size_ + bytes) room_.resize(size_ + bytes);
    return room_.data() + size_;
}

void FrameBuffer::write_head(int type, Channel channel, std::size_t payload_size) {
    char* const to = room_for(head);
    write_number<1>(to, static_cast<std::uint64_t>(type));
    write_number<2>(to + 1, channel);
    write_number<4>(to + 3, payload_size);
    size_ += head;
}

void FrameBuffer::add_frame(int type, Channel channel, std::size_t payload_size) {
    write_head(type, channel, payload_size);
    size_ += payload_size;
    *room_for(1) = frame_end.front();
    ++size_;
}

int FrameBuffer::add_method(Channel channel, amqp_method_number_t id, void* method) {
    constexpr std::size_t number = 4;
    char* const payload = room_for(frame_max_) + head;
    write_number<number>(payload, id);
    const int size = amqp_encode_method(id, method, {largest_fragment() - number, payload + number});
    if (size < 0) return size;
    add_frame(AMQP_FRAME_METHOD, channel, number + static_cast<std::size_t>(size));
    return AMQP_STATUS_OK;
}

bool FrameBuffer::add_header(Channel channel, const amqp_basic_properties_t& properties, std::size_t body_size) {
    constexpr std::size_t fixed = 12;  // class, weight, body size
    char* const payload = room_for(frame_max_) + head;
    write_number<2>(payload, AMQP_BASIC_CLASS);
    write_number<2>(payload + 2, 0);
    write_number<8>(payload + 4, body_size);
    auto* const decoded = const_cast<amqp_basic_properties_t*>(&properties);  // read only
    const int size = amqp_encode_properties(AMQP_BASIC_CLASS, decoded, {largest_fragment() - fixed, payload + fixed});
    if (size < 0) return false;
    add_frame(AMQP_FRAME_HEADER, channel, fixed + static_cast<std::size_t>(size));
    return true;
}

void FrameBuffer::add_body(Channel channel, std::string_view fragment) {
    std::memcpy(room_for(overhead + fragment.size()) + head, fragment.data(), fragment.size());
    add_frame(AMQP_FRAME_BODY, channel, fragment.size());
}

void FrameBuffer::open_body(Channel channel, std::size_t fragment_size) {
    write_head(AMQP_FRAME_BODY, channel, fragment_size);
}

// ── FrameSocket ─────────────────────────────────────────────────────────────────────────────────────────────────

FrameSocket::FrameSocket(RawConnection connection, std::string peer, Socket socket)
    : connection_(std::move(connection)),
      peer_(std::move(peer)),
      socket_(socket),
      unsent_(frame_max()),
      heartbeat_(amqp_get_heartbeat(connection_.get())) {}

FrameSocket::Received FrameSocket::receive(amqp_frame_t& frame) {
    const timeval now{};
    errno = 0;
    const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now);
    switch (status) {
        case AMQP_STATUS_OK:
            return Received::frame;
        case AMQP_STATUS_TIMEOUT:
            return Received::nothing;
        case AMQP_STATUS_BAD_AMQP_DATA:
            return Received::unreadable;
        default:
            fail(status);
    }
}

bool FrameSocket::may_hold_more() const {
    return !plain() || amqp_data_in_buffer(connection_.get()) != 0 || amqp_frames_enqueued(connection_.get()) != 0;
}

void FrameSocket::receive_large_frames() {
    amqp_connection_state_t state = connection_.get();
    require(amqp_tune_connection(state, amqp_get_channel_max(state), large_frame, amqp_get_heartbeat(state)));
}

void FrameSocket::flush() {
    if (!unsent_.empty()) flush_with({}, {});
}

// As rabbitmq-c's own sends it waits for room without an end of its own: TCP_USER_TIMEOUT (set by connect.cpp) breaks a
// connection whose data is not taken, and another thread may shut the socket down.
void FrameSocket::flush_with(std::string_view fragment, std::string_view end) {
    constexpr std::chrono::milliseconds for_ever{-1};
    std::array parts{unsent_.bytes(), fragment, end};
    while (std::any_of(parts.begin(), parts.end(), [](std::string_view part) { return !part.empty(); })) {
        const ssize_t sent = send_parts(fd(), parts);
        if (sent >= 0) {
            take_off(parts, static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            ready(fd(), POLLOUT, for_ever);
        } else if (errno != EINTR) {
            fail(AMQP_STATUS_SOCKET_ERROR);
        }
    }
    unsent_.cut(0);
}

void FrameSocket::send_heartbeat() {
    amqp_frame_t heartbeat{};
    heartbeat.frame_type = AMQP_FRAME_HEARTBEAT;
    require(amqp_send_frame(connection_.get(), &heartbeat));
}

void FrameSocket::send_heartbeat_if_due() {
    const auto now = Clock::now();
    if (heartbeat_.count() == 0 || now < next_heartbeat_ || !writable()) return;
    send_heartbeat();
    next_heartbeat_ = now + heartbeat_ / 2;
}

// rabbitmq-c looks, at the top of amqp_basic_publish, whether nothing was received for two heartbeats, and if so reads
// once more; up to 0.13 that read waits for ever (its timeout of "0 seconds from now" means none). With a broker that
// is gone without a word it would never return. It cannot get there as long as data has arrived more recently: what
// lies unread is read at once, and what was read has put the two heartbeats off. The kernel knows when data last
// arrived. Asked every quarter of a heartbeat, with one and a half allowed, the worst a publish can meet is a silence
// of one and three quarters.
//
// The same read is reached when a send finds the socket full for that long. There the data under way is what ends it:
// TCP_USER_TIMEOUT (set by connect.cpp) breaks a connection whose data is not taken.
void FrameSocket::require_signs_of_life() {
    const auto now = Clock::now();
    if (heartbeat_.count() == 0 || now < next_check_) return;
    const std::chrono::milliseconds heartbeat = heartbeat_;
    const std::chrono::milliseconds quiet = silence(fd());
    if (quiet > heartbeat * 3 / 2) throw lost("nothing was heard from the broker for " + seconds_text(quiet));
    next_check_ = now + heartbeat / 4;
}

bool FrameSocket::writable() const {
    return ready(fd(), POLLOUT, {});
}

void FrameSocket::hang_up() noexcept {
    const int socket = fd();
    if (socket < 0 || !ready(socket, POLLOUT, {})) return;
    amqp_connection_close_t close{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0};
    if (amqp_send_method(connection_.get(), 0, AMQP_CONNECTION_CLOSE_METHOD, &close) != AMQP_STATUS_OK) return;
    shutdown(socket, SHUT_WR);
    std::array<char, 4096> unread{};
    const auto deadline = Clock::now() + farewell;
    for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
        if (!ready(socket, POLLIN, std::chrono::ceil<std::chrono::milliseconds>(deadline - now))) return;
        if (recv(socket, unread.data(), unread.size(), 0) <= 0) return;
    }
}

void FrameSocket::fail(int status) {
    const std::string reason = describe(status, heartbeat_);
    if (status == AMQP_STATUS_SOCKET_ERROR || status == AMQP_STATUS_CONNECTION_CLOSED) throw_last_words();
    throw lost(reason);
}

Error FrameSocket::lost(const std::string& reason) const {
    return {Error::Kind::lost, "the connection to the broker at " + peer_ + " was lost: " + reason};
}

void FrameSocket::throw_last_words() {
    amqp_frame_t frame{};
    const timeval now{};
    while (amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now) == AMQP_STATUS_OK) {
        if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_CONNECTION_CLOSE_METHOD) continue;
        accept_close(connection_.get(), *static_cast<amqp_connection_close_t*>(frame.payload.method.decoded), peer_);
    }
}

void accept_close(amqp_connection_state_t state, const amqp_connection_close_t& close, const std::string& peer) {
    const std::string reason = std::to_string(close.reply_code) + ' ' + std::string{view_of(close.reply_text)};
    const auto kind =
        close.reply_code == core::reply_code::connection_forced ? Error::Kind::lost : Error::Kind::refused;
    amqp_connection_close_ok_t answer{};
    amqp_send_method(state, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &answer);  // if it fails: the connection ends anyway
    throw Error(kind, "the broker at " + peer + " closed the connection: " + reason, close.reply_code);
}

}  // namespace retryd::amqp
