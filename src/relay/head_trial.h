// The state of a trial: from when a message has ended the consuming connection until that message is out of the way.
//
// Some messages cannot be expressed in AMQP 0-9-1: an AMQP 1.0 message with a uuid among its application-properties, an
// MQTT message with a topic of more than 255 bytes, and others (docs/operations.md). Instead of handing such a message
// over, the broker ends the connection that consumes (541 INTERNAL_ERROR). No client ever sees the message, and it
// comes again on the next connection, as do the harmless ones that were delivered beside it. A message that is handed
// over, but in a frame that ends our connection, has the same effect.
//
// During a trial deliveries come one at a time. The harmless messages are handled as always; the culprit is alone when
// it ends the next connection. So only the culprit's deliveries count towards the delivery limit of the error queue:
// amqp/poison_head.h opens one connection after the other until the broker has moved it to the catch-all.
//
// A message that the broker needs minutes to write would block all others meanwhile. It is left to a connection of its
// own (head_blocks_channel()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/time.h"
#include "relay/in_flight.h"

namespace retryd::relay {

/// Lives longer than a session: what ends a connection has to be met with care on the next one.
class HeadTrial {
  public:
    /// A connection has ended over a message that was among so many deliveries, at most.
    void begin(std::size_t suspects, core::SteadyTime now);
    bool going_on() const { return until_.has_value(); }
    /// So many connections in a row have ended before anything was handed over that no other message is in front of the
    /// one that ends them. One would not tell: what comes back to a quorum queue goes behind what came back before.
    bool head_is_isolated() const { return ends_before_any_delivery_ >= needed_; }
    /// The last connection has ended before anything was handed over: at least one of the foremost messages ends
    /// connections.
    bool ended_before_any_delivery() const { return ends_before_any_delivery_ > 0; }
    /// The head was tried on connections of its own, of which so many have ended. `found_other`: in the end a message
    /// came that could be handed over. It is behind the others now, and has to be handled before the head is isolated;
    /// there may be several messages that cannot be handed over.
    void head_tried(int ended, bool found_other);
    /// Whether the queue was declared with its delivery limit; else nobody knows whether a policy gives it one.
    void queue_is_limited(bool limited) { limited_ = limited; }
    bool limited() const { return limited_; }
    /// Whether the broker has compared that the queue dead-letters to the catch-all what is rejected.
    void queue_dead_letters(bool dead_letters) { dead_letters_ = dead_letters; }
    bool dead_letters() const { return dead_letters_; }
    /// So many that cannot be handed over were rejected (amqp/head_rejection.h).
    void rejected(std::size_t messages) { rejected_ += messages; }
    std::size_t rejected() const { return rejected_; }
    /// The broker has answered nothing on the only channel for so long, though it was asked: it is busy with one
    /// message, and the one that cannot be handed over may be behind that. `idle`: nothing waits to be settled. True
    /// when the connection is to be left, and the head tried on others (amqp/poison_head.h).
    bool head_blocks_channel(core::Milliseconds silence, bool idle) const {
        return going_on() && idle && silence >= patience_;
    }
    /// That was done. `found`: there was a message that the broker is busy with, or one that it cannot hand over. Else
    /// the broker is slow as a whole, and gets more and more time.
    void blocking_head_set_aside(bool found);

    /// Whether a message may come beside the one that waits to be settled since then: its target seems to take none,
    /// and all others wait for it. If what comes cannot be handed over, the one that waits comes home once more. So not
    /// while the broker, or this machine, is slow as a whole; `silence` as in head_blocks_channel(). To be asked in
    /// each turn.
    bool takes_another(std::optional<core::SteadyTime> unsettled_since, core::Milliseconds silence,
                       core::SteadyTime now);

    /// The targets that did not answer when the last connection ended (Relay::were_silent).
    void silent_targets(SilentTargets targets) { silent_targets_ = std::move(targets); }
    const SilentTargets& silent_targets() const { return silent_targets_; }

    /// How many connections have ended since the trial began.
    int ended() const { return ended_; }

    /// How many deliveries may be unsettled, where so many are configured; 0: any number.
    std::uint16_t prefetch(std::uint16_t configured) const { return going_on() ? 1 : configured; }

    /// Messages are consumed now.
    void consuming(core::SteadyTime now);
    /// One was handed over.
    void passed(core::SteadyTime now);
    /// None has come for a while: is any ready in the error queue? True once, until counted() has the answer. `idle`:
    /// nothing waits to be settled.
    bool asks_for_count(core::SteadyTime now, bool idle);
    /// So many are ready; nothing where the broker has not said.
    void counted(std::optional<std::uint64_t> ready, core::SteadyTime now);
    /// True when the trial has just ended: as many were handed over as had been suspect, or none is left (another
    /// daemon may have them). Not for some seconds after it began: the other daemon may be about to hand back what it
    /// has met.
    bool on_tick(core::SteadyTime now);

  private:
    static constexpr int least_ends_before_any_delivery = 2;
    static constexpr core::Milliseconds least_patience{1'000};

    std::size_t suspects_ = 0;
    std::optional<core::SteadyTime> until_;  // not over before
    core::SteadyTime last_{};                // when one was handed over, or was seen to be ready
    bool counting_ = false;
    bool none_left_ = false;
    std::size_t passed_ = 0;            // on this connection
    int ends_before_any_delivery_ = 0;  // connections in a row
    int needed_ = least_ends_before_any_delivery;
    int ended_ = 0;
    core::Milliseconds patience_ = least_patience;
    core::SteadyTime slow_at_{};   // the broker, or this machine
    core::SteadyTime asked_at_{};  // whether another may come
    bool limited_ = false;
    bool dead_letters_ = false;
    std::size_t rejected_ = 0;  // since the trial began
    SilentTargets silent_targets_;
};

}  // namespace retryd::relay
