// Why, where and how often a message died: what `x-death` tells of this death, and what `retryd-*` headers tell of the
// rounds before it.
//
// The `retryd-*` headers are needed because RabbitMQ 3.13.0–3.13.2 and every 4.x forget an x-death that a client
// republishes (release notes of 4.0.1; tried on 3.10.8, 4.0.5 and 4.3.6).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/own_headers.h"
#include "core/time.h"
#include "core/value.h"

namespace retryd::core {

/// The header in which the broker writes them down.
inline constexpr std::string_view x_death = "x-death";

/// The newest death of a message in a work queue. Views into the header table it was read from.
struct Death {
    std::string_view queue;   // the work queue: usable_queue_name() holds
    std::string_view reason;  // rejected, expired, maxlen, delivery_limit, or what a later broker adds
    /// Deaths in that queue, over all reasons, that the broker remembers: since the last republish on RabbitMQ
    /// 3.13.0–2 and 4.x, which forget a republished x-death. At least 1, whatever a forged header says; 0 for what
    /// comes from a detour: it has not been in its work queue since, and its history has counted the death already.
    std::int64_t count = 1;
    std::optional<std::uint64_t> time;  // seconds; the first death for this queue and reason, never updated
    std::string_view exchange;          // what the message was published to before it died; may be empty
    std::string_view routing_key;       // the first of `routing-keys`
    std::optional<std::string_view> original_expiration;  // removed from the message by the broker on its death
};

/// Reads element 0 of `x-death`: the broker writes it at each death, on every version, whatever the message had there
/// before. The rest is not to be relied on: 3.x takes what a client published as x-death for its own, and 3.8–3.12
/// reverse the older entries at every death. So behind a death in the error queue, which is a hop of ours, a death
/// counts only where all the others are of the same queue or of its rungs.
/// What comes from a detour died where its `retryd-*` headers say, and for that reason; if it was thrown out there
/// before its time, for the reason of that. Whether its `retryd-*` headers are retryd's is not asked here (detour_of).
/// Nothing when there is no x-death, when it is not an array of tables, when its newest entry is a rung's, or names no
/// usable queue or no reason: such a message is parked, never guessed at.
std::optional<Death> read_death(const Table& headers, std::string_view error_queue);

/// The detour that a message comes from, by the broker's own record; nothing where it comes from elsewhere. Another
/// application may have declared a queue of that name before retryd did: what comes from there can name any work queue.
std::optional<std::string_view> detour_of(const Table& headers, std::string_view error_queue);

/// Whether a message comes from a detour that it took on its way to the catch-all (compose_parked_detour): that is the
/// only place for it, whatever its headers say. It is recognised by `retryd-parked-reason`, which is taken off every
/// other message that goes to a detour.
bool is_parked_detour(const Table& headers, std::string_view error_queue);

/// Whether the broker's own record says that a queue of retryd's sent the message last, a rung or a detour, but for the
/// error queue behind it: a copied proof is nothing then but for who has a queue of such a name.
bool left_queue_of_ours(const Table& headers, std::string_view error_queue);

/// Takes from a death what the producer may have written: no death is later than now; and where the broker counts on
/// an x-death that a client has published (`forgeable`), the routing key is the one that the message was delivered
/// with, unless that is not known. (It is the dead-letter-routing-key then, where the work queue has one.)
void sanitise_forgeable_fields(Death& death, bool forgeable, std::optional<std::string_view> delivered_key,
                               WallTime now);

/// What is read of a message that has waited its delay on a rung, and that retryd itself has to send home. The rung is
/// its newest death, and the work queue is named by a `retryd-*` header.
struct ReturnedByRung {
    std::string_view queue;
    std::string_view rung;
    /// It has left a shared rung and found no way back: the queue was not bound, or is gone. It came through the
    /// alternate exchange. Else it waited on a rung that leads to retryd (XDeath::keep), whatever ended its wait.
    bool unbound = false;
};
std::optional<ReturnedByRung> read_returned_by_rung(const Table& headers);

/// How often it came back to the queue that it is delivered from; 0 where that queue does not count.
std::int64_t deliveries_in_vain(const Table& headers);

/// What a message carries from its earlier rounds. Views into the header table. Everything that is missing or has the
/// wrong type is as if it were not there.
struct RetryHistory {
    std::int64_t attempt = 0;  // never negative
    std::optional<std::uint64_t> first_death;
    std::optional<std::string_view> exchange;
    std::optional<std::string_view> routing_key;
    std::optional<std::string_view> user_id;
    std::optional<std::string_view> expiration;
    std::optional<std::string_view> reply_to;
    bool was_held = false;  // before this death it came from the queue of held messages
    const Value* cc = nullptr;
    const Value* bcc = nullptr;
    const Value* delivery_time = nullptr;
    const Value* deferral_token = nullptr;
    const Value* x_death = nullptr;  // core/kept_deaths.h
    bool proven = false;             // else at most attempt and first_death are there
};

/// What can be believed of it. If `retryd-queue` names another queue than `work_queue`, nothing: a consumer that copies
/// headers into a new message to another queue must not hand on its attempts.
/// With a proof of retryd's: all of it. Without one, if x-death says that the message came from a rung or a detour (as
/// it does of one that retryd 0.1 put there, or one with a key that is not known any more): the attempts and the age,
/// since with these a producer can only make his own message be parked earlier or later. Else nothing: it is new.
RetryHistory read_retry_history(const Table& headers, std::string_view work_queue, const ProofKeys& keys);

/// What a proven history says; else the older one of what x-death says and what the history says.
std::optional<std::uint64_t> first_death_of(const Death& death, const RetryHistory& history);

/// What it claims, whoever has written it. For reports, and for what comes of it alone.
RetryHistory read_claimed_history(const Table& headers, std::string_view work_queue);

// One entry of x-death, as it is read: what the broker says of the deaths in one queue for one reason.

/// Null where a field is absent.
struct XDeathEntry {
    const Value* queue = nullptr;
    const Value* reason = nullptr;
    const Value* count = nullptr;
    const Value* time = nullptr;
    const Value* exchange = nullptr;
    const Value* routing_keys = nullptr;
    const Value* original_expiration = nullptr;

    const Value** field(std::string_view name) {
        switch (name.size()) {
            case 4:
                return name == "time" ? &time : nullptr;
            case 5:
                return name == "queue" ? &queue : name == "count" ? &count : nullptr;
            case 6:
                return name == "reason" ? &reason : nullptr;
            case 8:
                return name == "exchange" ? &exchange : nullptr;
            case 12:
                return name == "routing-keys" ? &routing_keys : nullptr;
            case 19:
                return name == "original-expiration" ? &original_expiration : nullptr;
            default:
                return nullptr;
        }
    }
};

/// All of it in one pass. Of fields with the same name the first one counts, as everywhere.
inline XDeathEntry read_death_entry(const Table& fields) {
    XDeathEntry entry;
    for (const Field& field : fields) {
        const Value** const place = entry.field(field.name);
        if (place != nullptr && *place == nullptr) *place = &field.value;
    }
    return entry;
}

}  // namespace retryd::core
