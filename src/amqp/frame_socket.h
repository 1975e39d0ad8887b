// A logged-in rabbitmq-c connection: frames in and out without waiting, every failure an Error.
//
// rabbitmq-c reads; all that is sent is written here, beneath TLS too. Its own sends wait for room, without an end of
// their own and without reading, and a broker under an alarm neither gives room nor can then say that it is blocked.
// What the socket does not take is kept and sent later, in order, so nothing gets between the parts of a message. For
// the same reason heartbeats are served here: rabbitmq-c would send one in the middle of a frame.
//
// rabbitmq-c is single-threaded, and its decoded frames live in one pool a channel until release() is called for it.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/error.h"
#include "amqp/rabbitmq.h"
#include "amqp/topology_commands.h"

struct ssl_st;  // OpenSSL's SSL

namespace retryd::amqp {

/// Whole frames, one behind the other, as they go over the wire: sent together, one call into the kernel takes many
/// publications instead of three for each.
class FrameBuffer {
  public:
    /// No frame gets larger, its head and end included.
    explicit FrameBuffer(std::size_t frame_max) : frame_max_(frame_max) {}

    /// The status of rabbitmq-c. Nothing is added where it is not AMQP_STATUS_OK.
    int add_method(Channel channel, amqp_method_number_t id, void* method);
    /// False where the properties do not fit a frame: nothing is added.
    bool add_header(Channel channel, const amqp_basic_properties_t& properties, std::size_t body_size);
    /// A copy; of at most largest_fragment().
    void add_body(Channel channel, std::string_view fragment);
    /// The head of a body frame alone: fragment and frame_end have to be sent right behind all this.
    void open_body(Channel channel, std::size_t fragment_size);
    /// Bytes as they are.
    void append(std::string_view bytes);
    /// So that a body of that many bytes can be added, frame by frame, in one piece of memory.
    void reserve_body(std::size_t size);

    std::size_t largest_fragment() const { return frame_max_ - overhead; }
    static constexpr std::string_view frame_end{"\xce", 1};

    std::string_view bytes() const { return {room_.data() + begin_, size()}; }
    std::size_t size() const { return end_ - begin_; }
    bool empty() const { return end_ == begin_; }
    /// Forgets all but the first so many bytes.
    void cut(std::size_t size) { end_ = begin_ + size; }
    /// Forgets the first so many bytes. Once nothing is left, the memory of a large body is given back.
    void take_off(std::size_t size);

  private:
    static constexpr std::size_t head = 7;  // type, channel, size
    static constexpr std::size_t overhead = head + 1;

    char* room_for(std::size_t bytes);
    /// Its payload lies there already.
    void add_frame(int type, Channel channel, std::size_t payload_size);
    void write_head(int type, Channel channel, std::size_t payload_size);

    std::size_t frame_max_;
    std::vector<char> room_;  // in use: from begin_ to end_
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

struct DestroyRawConnection {
    void operator()(amqp_connection_state_t state) const noexcept { amqp_destroy_connection(state); }
};
using RawConnection = std::unique_ptr<amqp_connection_state_t_, DestroyRawConnection>;

/// Of a plain one poll() knows all there is to read; with TLS some of it may have been decrypted already.
enum class Socket { plain, secured };

class FrameSocket {
  public:
    enum class Received {
        frame,
        nothing,    // no whole frame is there yet
        unreadable  // rabbitmq-c cannot decode what came: it will never read on, but still sends
    };

    /// `peer` names the broker in errors: host:port. `stream` is what is written to where there is TLS: of
    /// tls_stream(), else null.
    FrameSocket(RawConnection connection, std::string peer, Socket socket = Socket::secured, ssl_st* stream = nullptr);

    amqp_connection_state_t state() const { return connection_.get(); }
    const std::string& peer() const { return peer_; }
    int fd() const { return amqp_get_sockfd(connection_.get()); }
    bool plain() const { return socket_ == Socket::plain; }
    std::size_t frame_max() const { return static_cast<std::size_t>(amqp_get_frame_max(connection_.get())); }

    /// The next frame, without waiting. Throws when nothing was heard for two heartbeats.
    Received receive(amqp_frame_t& frame);

    /// Whether receive() may have something without poll() saying so.
    bool may_hold_more() const;

    /// From now on frames are taken in that are larger than was agreed on. For a connection that publishes nothing:
    /// rabbitmq-c cuts bodies by the same measure. Not while part of a frame is there.
    void receive_large_frames();

    /// Sends a heartbeat where one is due and nothing else is under way. To be called before receive(), which judges
    /// the broker's silence by the time of the last call.
    void serve_heartbeats();

    /// Throws when nothing was heard for two heartbeats, by the time of the last serve_heartbeats(). receive() calls
    /// it; for a connection that sends without being read from.
    void require_signs_of_life();

    /// What was decoded for that channel is no longer needed; kept all the same while part of a frame is in the pool.
    void release(Channel channel) { amqp_maybe_release_buffers_on_channel(connection_.get(), channel); }

    /// What goes out with the next flush, and before every method that is sent.
    FrameBuffer& unsent() { return unsent_; }
    const FrameBuffer& unsent() const { return unsent_; }
    /// Sends as much of it as the socket takes. True if nothing is left.
    bool flush() { return unsent_.empty() || flush_with({}, {}); }
    /// The same, and right behind it two parts from where they lie. What the socket does not take of them is copied to
    /// the end of unsent().
    bool flush_with(std::string_view fragment, std::string_view end);
    /// The socket has not taken all of unsent() when it was last tried: the rest goes when poll() tells of room.
    bool stalled() const { return stalled_; }

    /// Bytes since the beginning: those to be sent, and those of them that the broker's host has (for TLS about so
    /// many). The second costs a call into the kernel.
    std::uint64_t queued() const { return handed_over_ + unsent_.size(); }
    std::uint64_t taken() const;

    /// `method` is the structure that belongs to `id`; rabbitmq-c does not write to it. While the socket is stalled it
    /// waits behind what is there.
    template <typename Method>
    void send(Channel channel, amqp_method_number_t id, Method method) {
        require(unsent_.add_method(channel, id, &method));
        if (!stalled_) flush();
    }

    /// The last method of a connection. False if it did not get out, for whatever reason.
    template <typename Method>
    bool send_last(amqp_method_number_t id, Method method) noexcept {
        return unsent_.add_method(0, id, &method) == AMQP_STATUS_OK && send_the_rest();
    }

    /// Throws unless the status says that all is well.
    void require(int status) {
        if (status != AMQP_STATUS_OK) fail(status);
    }

    /// Says goodbye so that the broker reads everything that was sent before: closing a socket with unread data in it
    /// makes the kernel reset the connection, and what the broker had not read by then would be lost.
    void hang_up() noexcept;

    /// Answers a connection.close and throws its reason.
    [[noreturn]] void accept_close(const amqp_connection_close_t& close);
    /// The code of that reason; 0 where there was none.
    int closed_with() const { return closed_with_; }
    /// For the next one: a basic.consume has been sent, or answered.
    void consume_sent();
    void consume_answered() { consume_sent_at_.reset(); }
    /// The reason was a quorum queue that did not answer a basic.consume, as one without a leader.
    bool consume_unanswered() const { return consume_unanswered_; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t part_count = 3;
    using Parts = std::array<std::string_view, part_count>;

    /// Sends what the socket takes and takes it off the parts.
    int push(Parts& parts);
    ssize_t send_some(const Parts& parts);
    bool send_the_rest() noexcept;

    [[noreturn]] void fail(int status);
    Error lost(const std::string& reason) const;
    /// The broker's reason, where it told one before the connection broke.
    void throw_last_words();

    RawConnection connection_;
    std::string peer_;
    Socket socket_;
    ssl_st* stream_;
    FrameBuffer unsent_;
    bool stalled_ = false;
    std::uint64_t handed_over_ = 0;  // bytes, to the kernel
    std::chrono::seconds heartbeat_;
    Clock::time_point now_;  // at the last serve_heartbeats()
    Clock::time_point next_heartbeat_;
    Clock::time_point next_check_;
    Clock::time_point heard_at_;  // at the latest; what the kernel knows may be newer
    bool heard_ = true;           // since heard_at_ was set
    int closed_with_ = 0;
    std::optional<Clock::time_point> consume_sent_at_;  // none is answered since
    bool consume_unanswered_ = false;
};

}  // namespace retryd::amqp
