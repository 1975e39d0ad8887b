#include "amqp/frame_socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "amqp/refusal.h"
#include "amqp/tls_socket.h"
#include "core/reply_code.h"

namespace retryd::amqp {
namespace {

constexpr std::chrono::milliseconds farewell{1000};
/// So much memory is kept for what is sent next.
constexpr std::size_t kept_room = std::size_t{1} << 20;
/// A message of 16 MiB, the largest that RabbitMQ 4 takes by default, may be all headers, and they grow where AMQP 1.0
/// is put in terms of 0-9-1. No memory is taken before such a frame comes.
constexpr int large_frame = 64 * 1024 * 1024;

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

template <std::size_t count>
ssize_t send_parts(int fd, const std::array<std::string_view, count>& parts) {
    std::array<iovec, count> vectors{};
    for (std::size_t i = 0; i < parts.size(); ++i)
        vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = vectors.size();
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
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
    if (room_.size() >= end_ + bytes) return room_.data() + end_;
    if (begin_ > room_.size() / 2) {
        std::memmove(room_.data(), room_.data() + begin_, size());
        end_ = size();
        begin_ = 0;
    }
    if (room_.size() < end_ + bytes) room_.resize(end_ + bytes);
    return room_.data() + end_;
}

void FrameBuffer::reserve_body(std::size_t size) {
    room_.reserve(end_ + size + (size / largest_fragment() + 1) * overhead + 2 * frame_max_);
}

void FrameBuffer::append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(room_for(bytes.size()), bytes.data(), bytes.size());
    end_ += bytes.size();
}

void FrameBuffer::take_off(std::size_t size) {
    begin_ += size;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (room_.size() > kept_room) std::vector<char>().swap(room_);  // assigning {} would keep the memory
}

void FrameBuffer::write_head(int type, Channel channel, std::size_t payload_size) {
    char* const to = room_for(head);
    write_number<1>(to, static_cast<std::uint64_t>(type));
    write_number<2>(to + 1, channel);
    write_number<4>(to + 3, payload_size);
    end_ += head;
}

void FrameBuffer::add_frame(int type, Channel channel, std::size_t payload_size) {
    write_head(type, channel, payload_size);
    end_ += payload_size;
    *room_for(1) = frame_end.front();
    ++end_;
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

FrameSocket::FrameSocket(RawConnection connection, std::string peer, Socket socket, ssl_st* stream)
    : connection_(std::move(connection)),
      peer_(std::move(peer)),
      socket_(socket),
      stream_(stream),
      unsent_(frame_max()),
      heartbeat_(amqp_get_heartbeat(connection_.get())),
      now_(Clock::now()),
      heard_at_(now_) {
    // From now on without heartbeats of rabbitmq-c.
    amqp_connection_state_t state = connection_.get();
    if (heartbeat_.count() == 0) return;
    require(amqp_tune_connection(state, amqp_get_channel_max(state), amqp_get_frame_max(state), 0));
}

FrameSocket::Received FrameSocket::receive(amqp_frame_t& frame) {
    const timeval now{};
    errno = 0;
    const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now);
    switch (status) {
        case AMQP_STATUS_OK:
            heard_ = true;
            return Received::frame;
        case AMQP_STATUS_TIMEOUT:
            require_signs_of_life();
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
    require(amqp_tune_connection(state, amqp_get_channel_max(state), large_frame, 0));
}

bool FrameSocket::flush_with(std::string_view fragment, std::string_view end) {
    Parts parts{unsent_.bytes(), fragment, end};
    const int status = push(parts);
    unsent_.take_off(unsent_.size() - parts[0].size());
    unsent_.append(parts[1]);
    unsent_.append(parts[2]);
    require(status);
    stalled_ = !unsent_.empty();
    return !stalled_;
}

int FrameSocket::push(Parts& parts) {
    while (std::any_of(parts.begin(), parts.end(), [](std::string_view part) { return !part.empty(); })) {
        errno = 0;
        const ssize_t sent = send_some(parts);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? AMQP_STATUS_OK : AMQP_STATUS_SOCKET_ERROR;
        handed_over_ += static_cast<std::uint64_t>(sent);
        auto left = static_cast<std::size_t>(sent);
        for (std::string_view& part : parts) {
            const std::size_t taken = std::min(left, part.size());
            part.remove_prefix(taken);
            left -= taken;
        }
    }
    return AMQP_STATUS_OK;
}

ssize_t FrameSocket::send_some(const Parts& parts) {
    if (stream_ == nullptr) return send_parts(fd(), parts);
    const auto next = std::find_if(parts.begin(), parts.end(), [](std::string_view part) { return !part.empty(); });
    return send_through(stream_, *next);
}

bool FrameSocket::send_the_rest() noexcept {
    Parts parts{unsent_.bytes()};
    return fd() >= 0 && push(parts) == AMQP_STATUS_OK && parts[0].empty();
}

std::uint64_t FrameSocket::taken() const {
    int under_way = 0;
    if (ioctl(fd(), SIOCOUTQ, &under_way) != 0 || under_way < 0) return handed_over_;
    return handed_over_ - std::min(handed_over_, static_cast<std::uint64_t>(under_way));
}

void FrameSocket::serve_heartbeats() {
    if (heartbeat_.count() == 0) return;
    now_ = Clock::now();
    if (std::exchange(heard_, false)) heard_at_ = now_;
    if (now_ < next_heartbeat_ || !unsent_.empty()) return;
    constexpr std::string_view heartbeat{"\x08\0\0\0\0\0\0\xce", 8};
    unsent_.append(heartbeat);
    flush();
    next_heartbeat_ = now_ + std::chrono::milliseconds(heartbeat_) / 2;
}

// A broker under an alarm does not read, but its heartbeats come: so it is its silence that tells, not that it does not
// take what is sent. The kernel knows when data last arrived; where the socket was full for lack of reading, that is
// long ago, and what was read since counts.
void FrameSocket::require_signs_of_life() {
    if (heartbeat_.count() == 0 || now_ < next_check_) return;
    const std::chrono::milliseconds heartbeat = heartbeat_;
    next_check_ = now_ + heartbeat / 8;
    if (heard_ || now_ - heard_at_ <= 2 * heartbeat || silence(fd()) <= 2 * heartbeat) return;
    fail(AMQP_STATUS_HEARTBEAT_TIMEOUT);
}

void FrameSocket::hang_up() noexcept {
    const int socket = fd();
    if (socket < 0) return;
    if (!send_last(AMQP_CONNECTION_CLOSE_METHOD, amqp_connection_close_t{AMQP_REPLY_SUCCESS, amqp_empty_bytes, 0, 0})) {
        return;
    }
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

void FrameSocket::consume_sent() {
    if (!consume_sent_at_) consume_sent_at_ = Clock::now();
}

Error FrameSocket::lost(const std::string& reason) const {
    return {Error::Kind::lost, "the connection to the broker at " + peer_ + " was lost: " + reason};
}

void FrameSocket::throw_last_words() {
    amqp_frame_t frame{};
    const timeval now{};
    while (amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now) == AMQP_STATUS_OK) {
        if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_CONNECTION_CLOSE_METHOD) continue;
        accept_close(*static_cast<amqp_connection_close_t*>(frame.payload.method.decoded));
    }
}

void FrameSocket::accept_close(const amqp_connection_close_t& close) {
    closed_with_ = close.reply_code;
    const Clock::duration waited = consume_sent_at_ ? Clock::now() - *consume_sent_at_ : Clock::duration::zero();
    consume_unanswered_ = is_consume_unanswered(close.reply_code, view_of(close.reply_text),
                                                std::chrono::floor<core::Milliseconds>(waited));
    const std::string reason = std::to_string(close.reply_code) + ' ' + std::string{view_of(close.reply_text)};
    const auto kind =
        close.reply_code == core::reply_code::connection_forced ? Error::Kind::lost : Error::Kind::refused;
    if (!stalled_) unsent_.cut(0);                                             // it is of no use any more
    send_last(AMQP_CONNECTION_CLOSE_OK_METHOD, amqp_connection_close_ok_t{});  // if it fails: it ends anyway
    throw Error(kind, "the broker at " + peer_ + " closed the connection: " + reason, close.reply_code, reason);
}

}  // namespace retryd::amqp
