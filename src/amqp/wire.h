// A logged-in rabbitmq-c connection: frames in without waiting, methods out, every failure an Error.
//
// rabbitmq-c is single-threaded, and its decoded frames live in one pool a channel until release() is called for it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "amqp/error.h"
#include "amqp/frame_buffer.h"
#include "amqp/rabbitmq.h"
#include "amqp/topology_commands.h"

namespace retryd::amqp {

struct DestroyState {
    void operator()(amqp_connection_state_t state) const noexcept { amqp_destroy_connection(state); }
};
using State = std::unique_ptr<amqp_connection_state_t_, DestroyState>;

/// A plain one may be written to beside rabbitmq-c, between two frames of its own, and poll() knows all there is to
/// read. Beneath TLS neither holds.
enum class Socket { plain, secured };

class Wire {
  public:
    enum class Received {
        frame,
        nothing,    // no whole frame is there yet
        unreadable  // rabbitmq-c cannot decode what came: it will never read on, but still sends
    };

    /// `peer` names the broker in errors: host:port.
    Wire(State state, std::string peer, Socket socket = Socket::secured);

    amqp_connection_state_t state() const { return state_.get(); }
    const std::string& peer() const { return peer_; }
    int fd() const { return amqp_get_sockfd(state_.get()); }
    bool plain() const { return socket_ == Socket::plain; }
    std::size_t frame_max() const { return static_cast<std::size_t>(amqp_get_frame_max(state_.get())); }

    /// Sends a heartbeat where one is due. Throws when nothing was heard for two heartbeats.
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
    void release(Channel channel) { amqp_maybe_release_buffers_on_channel(state_.get(), channel); }

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
        require(amqp_send_method(state_.get(), channel, id, &method));
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

    State state_;
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
