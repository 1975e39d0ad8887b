// Messages that the broker cannot hand over: it ends the connection that consumes instead (541 INTERNAL_ERROR), for it
// cannot express them in AMQP 0-9-1. An AMQP 1.0 message with a uuid among its application-properties, an MQTT message
// with a topic of more than 255 bytes, and others (docs/operations.md). No client ever sees such a message, and it
// comes again on the next connection. So do all that were delivered beside it, which have done nothing.
//
// So from such an end on the deliveries come one at a time: the good ones go their way, and the one that cannot be
// handed over is alone when it ends the next connection. Then only it counts towards the delivery limit of the error
// queue, and amqp/poison_head.h opens one connection after the other until the broker has moved it to the catch-all.
//
// The same goes for a message that is handed over, but in a frame that ends our connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time.h"

namespace retryd::relay {

/// Lives longer than a session: what ends a connection has to be met with care on the next one.
class HeadTrial {
  public:
    /// A connection has ended over a message that was among so many deliveries, at most.
    void begin(std::size_t suspects, core::SteadyTime now);
    bool going_on() const { return until_.has_value(); }
    /// Two connections in a row have ended before anything was handed over: no other message is in front of the one that
    /// ends them. Once would not tell, for what comes back to a quorum queue goes behind what came back before.
    bool alone() const { return in_vain_ >= 2; }
    /// What is at the head has been looked at, and may be another one now.
    void looked() { in_vain_ = 0; }

    /// How many deliveries may be unsettled, where so many are configured; 0: any number.
    std::uint16_t prefetch(std::uint16_t configured) const { return going_on() ? 1 : configured; }

    /// Messages are consumed now.
    void consuming(core::SteadyTime now) { last_ = now; }
    /// One was handed over.
    void passed(core::SteadyTime now);
    /// True when the trial has just ended: as many were handed over as had been suspect, or none has come for a while
    /// (another daemon may have them). Not for some seconds after it began: the other daemon may be about to hand back
    /// what it has met. `idle`: nothing waits to be settled.
    bool on_tick(core::SteadyTime now, bool idle);

  private:
    std::size_t suspects_ = 0;
    std::optional<core::SteadyTime> until_;  // not over before
    core::SteadyTime last_{};                // when one was handed over
    std::size_t passed_ = 0;                 // on this connection
    int in_vain_ = 0;                        // connections in a row
};

}  // namespace retryd::relay
