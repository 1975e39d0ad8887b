// Messages that the broker cannot hand over: it ends the connection that consumes instead (541 INTERNAL_ERROR), for it
// cannot express them in AMQP 0-9-1. An AMQP 1.0 message with a uuid among its application-properties, an MQTT message
// with a topic of more than 255 bytes, and others (docs/operations.md). No client ever sees such a message, and it
// comes again on the next connection. So do all that were delivered beside it, which have done nothing.
//
// So from such an end on the deliveries come one at a time: the good ones go their way, and the one that cannot be
// handed over is alone when it ends the next connection. Then only it counts towards the delivery limit of the error
// queue, and amqp/poison_head.h opens one connection after the other until the broker has moved it to the catch-all.
//
// A message that the broker needs minutes to write would be the only one meanwhile: it is passed by (held_up()).
//
// The same goes for a message that is handed over, but in a frame that ends our connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"

namespace retryd::relay {

/// Lives longer than a session: what ends a connection has to be met with care on the next one.
class HeadTrial {
  public:
    /// A connection has ended over a message that was among so many deliveries, at most.
    void begin(std::size_t suspects, core::SteadyTime now);
    bool going_on() const { return until_.has_value(); }
    /// So many connections in a row have ended before anything was handed over that no other message is in front of the
    /// one that ends them. One would not tell: what comes back to a quorum queue goes behind what came back before.
    bool alone() const { return in_vain_ >= needed_; }
    /// The last connection has ended before anything was handed over: what is in front, if not all of it, ends them.
    bool in_vain() const { return in_vain_ > 0; }
    /// So many connections were spent on what is at the head. `found_other`: until one could be handed over. It is
    /// behind the others now, and has to go its way before the head is alone; there may be several that cannot.
    void looked(int ended, bool found_other);
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
    /// when the connection is to be left, and the head looked at on others (amqp/poison_head.h).
    bool held_up(core::Milliseconds silence, bool idle) const { return going_on() && idle && silence >= patience_; }
    /// That was done, and has shown what held it up, or not: a broker that is slow as a whole gets more and more time.
    void looked_past(bool found);

    /// Whether a message may come beside the one that waits to be settled since then: its target seems to take none,
    /// and all others wait for it. If what comes cannot be handed over, the one that waits comes home once more. So not
    /// while the broker, or this machine, is slow as a whole; `silence` as in held_up(). To be asked in each turn.
    bool takes_another(std::optional<core::SteadyTime> unsettled_since, core::Milliseconds silence,
                       core::SteadyTime now);

    /// The targets that did not answer when the last connection ended (Relay::were_silent).
    void silent_targets(std::vector<std::string> keys) { silent_targets_ = std::move(keys); }
    const std::vector<std::string>& silent_targets() const { return silent_targets_; }

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
    static constexpr int least_in_vain = 2;
    static constexpr core::Milliseconds least_patience{1'000};

    std::size_t suspects_ = 0;
    std::optional<core::SteadyTime> until_;  // not over before
    core::SteadyTime last_{};                // when one was handed over, or was seen to be ready
    bool counting_ = false;
    bool none_left_ = false;
    std::size_t passed_ = 0;  // on this connection
    int in_vain_ = 0;         // connections in a row
    int needed_ = least_in_vain;
    int ended_ = 0;
    core::Milliseconds patience_ = least_patience;
    core::SteadyTime slow_at_{};   // the broker, or this machine
    core::SteadyTime asked_at_{};  // whether another may come
    bool limited_ = false;
    bool dead_letters_ = false;
    std::size_t rejected_ = 0;  // since the trial began
    std::vector<std::string> silent_targets_;
};

}  // namespace retryd::relay
