// The deliveries of one channel and what became of them, so that one ack settles many.
#pragma once

#include <cstddef>

#include "core/message.h"
#include "relay/broker.h"
#include "relay/ring.h"

namespace retryd::relay {

/// Tags are those of one channel: 1, 2, 3 … without a gap, in the order of delivery.
class AckTracker {
  public:
    void delivered(core::DeliveryTag tag);

    /// To be acked with a flush. A tag is settled once; settling it again is ignored (the broker closes the channel
    /// with 406 on an ack for a tag that it does not know).
    void ack(core::DeliveryTag tag);

    /// The broker has been told something else about it: requeue or dead-letter.
    void settled(core::DeliveryTag tag);

    /// One ack with `multiple` for the oldest deliveries, up to the first open one.
    void flush(PublishPort& port);

    /// Acks to send that lie behind an open delivery.
    std::size_t behind() const { return to_ack_; }

    /// Acks those one by one. Not more often than needed: each is a command to a quorum queue, and those that queue up
    /// on their way are forgotten by the broker when the channel ends, so that their messages come again.
    void flush_behind(PublishPort& port);

    std::size_t open() const { return open_; }

  private:
    enum class State : unsigned char { open, to_ack, done };

    void close(core::DeliveryTag tag, State state);

    Ring<State> states_;  // states_[i] belongs to tag first_ + i
    core::DeliveryTag first_ = 1;
    std::size_t open_ = 0;
    std::size_t to_ack_ = 0;
};

}  // namespace retryd::relay
