// Reads what a message in a parking queue or on a rung tells about itself, and decides whether the operator's selection
// covers it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compose.h"
#include "core/death.h"
#include "core/message.h"
#include "core/own_headers.h"
#include "core/time.h"
#include "core/value.h"

namespace retryd::admin {

/// Views into the header table that it was read from.
struct Parked {
    /// The work queue. If retryd parked the message, as its proof says (core/own_headers.h), from the header
    /// retryd-queue. Otherwise (the broker dead-lettered it into the catch-all, an earlier retryd parked it, or another
    /// client put it there) from x-death. Empty if unknown: a message is sent nowhere because of what it claims about
    /// itself.
    std::string_view queue;
    /// The header retryd-parked-reason, whoever wrote it. If the broker dead-lettered the message, the reason of its
    /// newest death. Empty if unknown.
    std::string_view reason;
    /// When it was parked, in seconds. If the broker dead-lettered it, the time of its newest death.
    std::optional<std::uint64_t> at;
    std::string_view death_reason;  // why it died in the work queue; may be empty
    std::int64_t attempts = 0;      // 0 if not known
    bool by_retryd =
        false;  // parked by retryd, as its proof says; else by the broker, an earlier retryd or another client
    std::optional<core::Death> death;  // its death in `queue`, if x-death has it
    core::RetryHistory carried;        // its retry history in `queue`, as far as it can be believed
};

/// Parked::at as a time; nothing if it is unknown or beyond the year 9999, which a forged header can claim.
std::optional<core::WallTime> parked_at(const Parked& parked);

/// The exchange that the producer published it to; empty if unknown, or for the default exchange.
std::string_view exchange_of(const Parked& parked);

Parked read_parked(const core::Table& headers, std::string_view error_queue, const core::ProofKeys& keys);

/// The text of a header that a HeaderMatch compares with; nothing if it can match none.
std::optional<std::string> header_text(const core::Value* value);

struct HeaderMatch {
    std::string name;
    std::string value;  // a glob; numbers and truth values are compared as text
};

/// Messages that were chosen one by one. Two messages may be equal in everything, so it counts.
class MessageChoice {
  public:
    virtual ~MessageChoice() = default;
    /// A queue is read from its head; this may happen more than once.
    virtual void begin() = 0;
    /// Whether this message was chosen, and not more equal ones than were chosen.
    virtual bool take(const core::Message& message) = 0;
};

/// Which messages are selected: those that meet all conditions. An empty condition is met by every message.
struct Selection {
    std::string queue = {};   // a name or a glob
    std::string reason = {};  // a name or a glob
    std::optional<core::WallTime> parked_before = {};
    std::optional<core::WallTime> parked_after = {};
    std::vector<HeaderMatch> headers = {};
    std::string message_id = {};  // equal to this
    std::string exchange = {};    // the exchange that it was published to; a name or a glob
    std::string type = {};        // the property; a name or a glob
    /// Equal to this message in everything that its publisher or retryd wrote. Must outlive the selection.
    const core::Message* exactly = nullptr;
    /// The chosen messages; asked last, once for each message. Must outlive the selection.
    MessageChoice* among = nullptr;
    /// The id of the `parked replay` run that sent it last.
    std::string replay = {};

    bool everything() const {
        return queue.empty() && reason.empty() && !parked_before && !parked_after && headers.empty() &&
               message_id.empty() && exchange.empty() && type.empty() && exactly == nullptr && among == nullptr &&
               replay.empty();
    }
};

/// A message without a known time of parking is neither older nor newer than anything.
bool selects(const Selection& selection, const Parked& parked, const core::Message& message);

/// The reason of messages that RabbitMQ cannot hand over by AMQP 0-9-1, whose headers cannot be read.
inline constexpr std::string_view undeliverable_reason = "undeliverable";
bool selects_undeliverable(const Selection& selection);

// ── On a rung ───────────────────────────────────────────────────────────────────────────────────────────────────────
//
// Messages on a rung that should not wait any longer: they are sent home as the rung would have sent them
// (core::compose_return), or parked.

/// The reason of a message that an operator parked.
inline constexpr std::string_view parked_by_hand = "by-hand";

/// As read_parked, for a message on a rung: `reason` is that of its last death, `at` the time of its first one. Its
/// work queue is known only with a proof; a message without one stays and goes home when its delay is over.
Parked read_waiting(const core::Table& headers, const core::ProofKeys& keys);

/// `context` is compose_context_of(parked). The result holds views into all arguments.
core::Message compose_parked_by_hand(const core::Message& message, const core::ComposeContext& context,
                                     core::WallTime now, core::ComposeScratch& scratch);

}  // namespace retryd::admin
