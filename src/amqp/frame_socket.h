// A logged-in rabbitmq-c connection: frames in without waiting, methods out, every failure an Error.
//
// rabbitmq-c is single-threaded, and its decoded frames live in one pool a channel until release() is called for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/error.h"
#include "amqp/rabbitmq.h"
#include "amqp/topology_commands.h"

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

    std::size_t largest_fragment() const { return frame_max_ - overhead; }
    static constexpr std::string_view frame_end{"\xce", 1};

    std::string_view bytes() const { return {room_.data(), size_}; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    /// Forgets all but the first so many bytes.
    void cut(std::size_t size) { size_ = size; }

  private:
    static constexpr std::size_t head = 7;  // type, channel, size
    static constexpr std::size_t overhead = head + 1;

    char* room_for(std::size_t bytes);
    /// Its payload lies there already.
    void add_frame(int type, Channel channel, std::size_t payload_size);
    void write_head(int type, Channel channel, std::size_t payload_size);

    std::size_t frame_max_;
    std::vector<char> room_;  // its first size_ bytes are in use
    std::size_t size_ = 0;
};

struct DestroyRawConnection {
    void operator()(amqp_connection_state_t state) const noexcept { amqp_destroy_connection(state); }
};
using RawConnection = std::unique_ptr<amqp_connection_state_t_, DestroyRawConnection>;

/// A plain one may be written to beside rabbitmq-c, between two frames of its own, and poll() knows all there is to
/// read. Beneath TLS neither holds.
enum class Socket { plain, secured };

class FrameSocket {
  public:
    enum class Received {
        frame,
        nothing,    // no whole frame is there yet
        unreadable  // rabbitmq-c cannot decode what came: it will never read on, but still sends
    };

    /// `peer` names the broker in errors: host:port.
    FrameSocket(RawConnection connection, std::string peer, Socket socket = Socket::secured);

    amqp_connection_state_t state() const { return connection_.get(); }
    const std::string& peer() const { return peer_; }
    int fd() const { return amqp_get_sockfd(connection_.get()); }
    bool plain() const { return socket_ == Socket::plain; }
    std::size_t frame_max() const { return static_cast<std::size_t>(amqp_get_frame_max(connection_.get())); }

    /// The next frame, without waiting; on the way rabbitmq-c sends a heartbeat where one is due. Throws when nothing
    /// was heard for two heartbeats.
    Received receive(amqp_frame_t& frame);

    /// Whether receive() may have something without poll() saying so.
    bool may_hold_more() const;

    /// From now on frames are taken in that are larger than was agreed on. For a connection that publishes nothing:
    /// rabbitmq-c cuts bodies by the same measure. Not while part of a frame is there.
    void receive_large_frames();

    void send_heartbeat();
    /// For a connection that is not read from for a while: receive() does the same by the way.
    void send_heartbeat_if_due();

    /// What was decoded for that channel is no longer needed; kept all the same while part of a frame is in the pool.
    void release(Channel channel) { amqp_maybe_release_buffers_on_channel(connection_.get(), channel); }

    /// Of a plain socket: what goes out with the next flush, and before every method that is sent.
    FrameBuffer& unsent() { return unsent_; }
    /// Waits while the socket is full.
    void flush();
    /// The same, and right behind it two parts from where they lie.
    void flush_with(std::string_view fragment, std::string_view end);

    /// `method` is the structure that belongs to `id`; rabbitmq-c does not write to it.
    template <typename Method>
    void send(Channel channel, amqp_method_number_t id, Method method) {
        flush();
        require(amqp_send_method(connection_.get(), channel, id, &method));
    }

    /// Throws unless the status says that all is well.
    void require(int status) {
        if (status != AMQP_STATUS_OK) fail(status);
    }

    /// To be called before every publication; throws if the broker has been silent for too long.
    void require_signs_of_life();

    bool writable() const;

    /// Says goodbye so that the broker reads everything that was sent before: closing a socket with unread data in it
    /// makes the kernel reset the connection, and what the broker had not read by then would be lost.
    void hang_up() noexcept;

  private:
    [[noreturn]] void fail(int status);
    Error lost(const std::string& reason) const;
    /// The broker's reason, where it told one before the connection broke.
    void throw_last_words();

    using Clock = std::chrono::steady_clock;

    RawConnection connection_;
    std::string peer_;
    Socket socket_;
    FrameBuffer unsent_;
    std::chrono::seconds heartbeat_;
    Clock::time_point next_check_;
    Clock::time_point next_heartbeat_;
};

/// Answers a connection.close and throws its reason.
[[noreturn]] void accept_close(amqp_connection_state_t state, const amqp_connection_close_t& close,
                               const std::string& peer);

}  // namespace retryd::amqp
