// Gets rid of a message at the head of a queue that the broker cannot hand over (relay/head_trial.h).
//
// Only while no other message is in front of it: what a quorum queue takes back goes behind what it took back before,
// so that two of them would take turns, and both would come to the limit.
//
// Nothing but a delivery limit takes it away: each connection that it ends counts as a delivery in vain, and beyond the
// limit of the queue the broker dead-letters it, for which it need not be expressed in AMQP 0-9-1. So one connection
// after the other takes nothing but the head of the queue. Each costs a few round trips, and about 10 ms of a broker
// that has nothing else to do; it also writes why to its log, each time.
//
// What the broker is busy with writing meanwhile is held, so that the next connection gets what is behind it
// (amqp/held_heads.h).
#pragma once

#include <functional>
#include <string>

#include "amqp/held_heads.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::amqp {

struct PoisonHead {
    enum class State {
        none,     // nothing is handed over to us: the queue is empty, another daemon has its head, or too many are held
        another,  // one that can be handed over; it went back, behind what came back before
        stays,    // after most_attempts: no limit is in effect
        stopped,  // go_on() said so
    };
    State state = State::none;
    int connections_ended = 0;
};

inline constexpr core::Milliseconds poison_head_pause{20};
/// Enough for one message and the limit that retryd declares, and some more.
inline constexpr int poison_head_attempts = 130;
/// Where it is known that there is that limit: several messages may take turns.
inline constexpr int most_poison_head_attempts = 5'000;

/// Ends at most so many connections over the head of that queue; while go_on(), which is asked before each. What can be
/// handed over goes back at once; what the broker needs long for is in `held` then. Throws Error where there is no
/// connection. `pause`: between two of them. Not less than poison_head_pause: the broker may say that it ends a
/// connection before the queue has taken the message back, and for a moment another one is at the head.
PoisonHead wear_out_head(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                         HeldHeads& held, int most_attempts, core::Milliseconds pause,
                         const std::function<bool()>& go_on);

}  // namespace retryd::amqp
