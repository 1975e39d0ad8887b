// Composing the message that is published again: as it was, with exactly the exceptions that retryd promises.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/death.h"
#include "core/decide.h"
#include "core/message.h"

namespace retryd::core {

/// What goes to the broker: always mandatory, always awaiting a confirm.
struct Publication {
    std::string_view exchange;
    std::string_view routing_key;
    Message message;
};

/// Scratch space for composed header tables, kept between messages so that composing allocates nothing once warm.
struct ComposeScratch {
    std::vector<Field> fields;
    std::string text;
    ProofText proof{};
};

/// What composing needs to know of a message besides the message itself.
struct ComposeContext {
    std::optional<Death> death;        // absent: no x-death that can be read
    RetryHistory history;              // of the rounds before this death
    std::string_view connection_user;  // a user-id other than this one would be refused (406), so it is set aside
    const ProofKeys* keys = nullptr;   // null or empty: no proof is written
    bool applies_verdict = false;      // what the consumer has said (core/verdict.h) is done, and goes no further
    const Value* x_death = nullptr;    // what the consumer is to see with this death (core/kept_deaths.h); null: none
};

/// Writes the proof (core/own_headers.h) for the `retryd-*` headers among `scratch.fields`, in the place of an older
/// one. Only for what retryd itself knows to be so: what is signed is believed from then on.
void add_proof(const ComposeContext& context, ComposeScratch& scratch);

/// For a rung. If x-death is kept, it waits in a `retryd-*` header: the broker writes its own when the message expires.
/// Takes off: x-death, x-first-death-*, x-last-death-* (a kept x-death makes 3.10 drop the message on
/// its way back as a cycle), x-delivery-count, x-acquired-count. Sets aside: CC, BCC, a foreign user-id, expiration, a
/// reply-to that the broker would refuse, x-opt-delivery-time and x-opt-deferral-token, by which a broker may delay or
/// defer what is published. delivery-mode is 2. `retryd-*` headers that the message brings are replaced
/// where `context.death` is known, and else stay, with no new proof unless their own one holds. The result holds views
/// into `message`, `context` and `scratch`.
Message compose_retry(const Message& message, const ComposeContext& context, const Retry& retry,
                      ComposeScratch& scratch);

/// For the queue of held messages: as for a rung, but the death that led there does not count. `hold.attempt` is what
/// was spent before.
Message compose_held(const Message& message, const ComposeContext& context, const Hold& hold, WallTime now,
                     ComposeScratch& scratch);

/// From there to the work queue: as it is, without what the broker added. Since when it was held stays on it, so that a
/// failure after that is told from others. What the broker would refuse is set aside as for a rung: any client may have
/// put the message there, or retryd has another user by now. `context.death` is absent.
Message compose_released(const Message& message, const ComposeContext& context, ComposeScratch& scratch);

/// To its work queue, of what has waited and the broker does not send there itself: as it is, without what the broker
/// added on the way. If x-death is kept, with that, and with x-first-death-* and x-last-death-* as they belong to it.
Message compose_return(const Message& message, const ComposeContext& context, ComposeScratch& scratch);

/// The key that the producer published with; empty where it is not known, or where it cannot be one.
std::string_view producer_routing_key(const ComposeContext& context);

/// For a parking queue: the same, but x-death stays, and why and when it was parked is added. If the consumer sees
/// x-death, it is the one that it would see next.
Message compose_parked(const Message& message, const ComposeContext& context, const Park& park, WallTime now,
                       ComposeScratch& scratch);

/// Of what nothing is known of, for a detour that leads to the catch-all: parked, but without x-death, as on a rung.
Message compose_parked_detour(const Message& message, const ComposeContext& context, const Park& park, WallTime now,
                              ComposeScratch& scratch);

/// For the catch-all, or for a detour that leads there, of what has been parked before: its history is in its headers
/// already, so they stay, why and when it was parked included. `context.death` is absent. `keep_death`: x-death stays.
Message compose_parked_again(const Message& message, const ComposeContext& context, bool keep_death, WallTime now,
                             ComposeScratch& scratch);

/// For the error queue itself, of a message that has come back to it so often that its delivery limit is near: the same
/// once more, and read as before, x-death and what earlier rounds have written included. A copy's deliveries count from
/// 0.
Message compose_republished(const Message& message, const ComposeContext& context, ComposeScratch& scratch);

}  // namespace retryd::core
