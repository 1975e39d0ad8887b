// What one connection sees of the head of a queue.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "amqp/connection.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::amqp {

/// Consumes with a prefetch of 1. As long as it lives, the broker gives what is at the head to nobody else. Destroyed
/// without close() it drops the connection, which counts as a delivery in vain.
class HeadGlance : private Events {
  public:
    enum class Sees {
        end,      // the broker has ended the connection: it cannot hand over what is there
        message,  // one that can be handed over; it went back, or is kept
        nothing,  // the queue is empty, or another daemon has its head
        silence,  // the broker answers nothing on the channel: it is busy with writing what is there
    };

    HeadGlance(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue);
    /// Over a connection that nobody has used yet.
    HeadGlance(std::unique_ptr<Connection> connection, const std::string& queue);

    /// Takes as long as it takes to know. Throws Error. After silence it may be kept, after anything else not.
    Sees look();
    /// The same, but a message that can be handed over stays with this, until give_back(). So long the broker may be
    /// silent: one under load may well be.
    Sees look_and_keep(core::Milliseconds silence);
    /// What was kept goes back, which counts as no delivery in vain where the broker makes that difference, if this
    /// lives for ack_linger thereafter.
    void give_back();
    /// Serves the heartbeats of one that keeps a message: to be called every few seconds.
    void serve() { connection_->drain(*this, 1); }

    /// After silence, now and then, which serves its heartbeats too: what has come after all goes back. False when it
    /// is of no use any more. Never waits, never throws.
    bool hold(core::SteadyTime now) noexcept;

  private:
    void on_consume_ok() override;
    void on_qos_ok(Channel channel) override;
    void on_delivery(const core::Delivery& delivery) override;
    void on_unreadable_delivery(core::DeliveryTag tag) override;
    void on_channel_closed(const ChannelClosed& closed) override;

    std::optional<Sees> seen();
    core::Milliseconds waited() const;
    void wait(core::Milliseconds time) const;
    void linger();

    std::unique_ptr<Connection> connection_;
    core::SteadyTime since_{};  // when the broker last owed something new
    int answers_owed_ = 0;      // to basic.qos
    bool consuming_ = false;
    bool keeps_ = false;
    core::Milliseconds patience_;  // with its answer
    bool asked_ = false;
    std::optional<core::DeliveryTag> delivered_;
    std::optional<core::SteadyTime> gave_back_at_;
};

}  // namespace retryd::amqp
