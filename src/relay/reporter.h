// What the relay tells the outside. It does not log or count: it reports, and telemetry decides what to say.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/time.h"

namespace retryd::relay {

enum class RequeueCause {
    nacked,
    returned,
    unanswered,      // for so long that the broker would take the delivery back: it may have arrived
    detour_refused,  // it could go nowhere: its target takes none, and the detour neither
    channel_closed,  // the broker closed the publishing channel because of this message or one beside it
};
/// Stays the last one: tables are as long.
inline constexpr RequeueCause last_requeue_cause = RequeueCause::channel_closed;

enum class Outcome {
    retried,
    parked,
    dropped,
    held,               // until an outage is over
    detoured,           // waits outside of the error queue until what it is for takes messages again
    sent_home,          // from a rung that leads back to retryd, because x-death is kept
    returned_to_queue,  // what a shared rung could not deliver, its work queue bound again
};
/// Stays the last one: tables are as long.
inline constexpr Outcome last_outcome = Outcome::returned_to_queue;

/// What the relay needs something on the broker for: a queue or exchange that it publishes to, or a binding.
enum class TargetRole {
    rung,
    held,     // `{queue}.held`: messages wait there for the end of an outage
    parking,  // a queue of ours
    catch_all,
    detour,
    parking_exchange,  // foreign
    work_queue,        // for what retryd itself sends home
    return_exchange,
    return_binding,  // of a work queue to the return exchange
    error_binding,   // of the error queue to a foreign dead-letter exchange
};

/// What messages are published to, as it is reported.
struct TargetName {
    TargetRole role = TargetRole::rung;
    std::string_view name;                    // of the queue or the exchange
    std::string_view work_queue_filter = {};  // only what is published there for that work queue; empty: for any
};

/// One message that has arrived where it was sent: confirmed by the broker, about to be acked. Or one that was dropped.
struct Settled {
    Outcome outcome = Outcome::retried;
    std::string_view work_queue;  // empty where it is not known
    std::string_view target;      // the rung, or the queue or exchange that it is parked in; empty when dropped
    std::string_view reason;      // a core::reason_label()
    core::Milliseconds delay{};
    core::Milliseconds confirm_time{};
    TargetRole role = TargetRole::rung;  // of the target
    /// Of a failure of the consumer's that has not been reported before, and whose entry may hold, which attempt it
    /// was; else 0.
    std::int64_t attempt = 0;
    bool was_held = false;  // before that death it came from the queue of held messages
};

/// Why a message is dead-lettered that comes by on_unreadable_delivery().
inline constexpr std::string_view why_unreadable = "its headers nest too deep to be read";

/// Called from within Relay; the views live only until the call returns.
class Reporter {
  public:
    virtual ~Reporter() = default;

    virtual void settled(const Settled& message) = 0;

    /// Handed to the broker's own dead-lettering: it cannot be read, does not fit a frame, or the broker closes the
    /// channel or the connection over it.
    virtual void dead_lettered(std::string_view work_queue, std::string_view why) = 0;

    /// The same, but it is not known whether the error queue dead-letters at all (`declare: false`): it goes back there
    /// after `delay`, and will be met again.
    virtual void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) = 0;

    /// A message that says that it was parked before should be parked in that exchange: it goes to the catch-all.
    virtual void parked_before(std::string_view exchange) = 0;

    /// That foreign exchange routes to no queue with this key, which a producer has chosen: reported once for each key.
    /// healed(TargetRole::parking_exchange): it does.
    virtual void unroutable(std::string_view exchange, std::string_view routing_key) = 0;

    /// The target has not answered a publication for a while: it gets few more, the others take the detour. Told once;
    /// it is over with the next message that is settled there.
    virtual void silent(const TargetName& target) = 0;

    /// Goes back to the error queue after `delay`.
    virtual void requeued(const TargetName& target, RequeueCause cause, core::Milliseconds delay) = 0;

    /// The broker refuses something that the relay needs; what that means for messages depends on its role. healed():
    /// it is there again; not_needed(): the configuration does not name it any more.
    virtual void refused(TargetRole role, std::string_view name, std::string_view why) = 0;
    virtual void healed(TargetRole role, std::string_view name) = 0;
    virtual void not_needed(TargetRole role, std::string_view name) = 0;
};

}  // namespace retryd::relay
