// What a message in a parking queue tells about itself, and whether it is among those that an operator means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/death.h"
#include "core/message.h"
#include "core/own_headers.h"
#include "core/time.h"
#include "core/value.h"

namespace retryd::admin {

/// Views into the header table it was read from.
struct Parked {
    /// The work queue. Of what retryd parked, as its proof says (core/own_headers.h): the header retryd-queue. Of all
    /// else (which the broker dead-lettered into the catch-all, an earlier retryd parked, or another client put there):
    /// x-death's. Empty where it is unknown: a message is sent nowhere because of what it claims of itself.
    std::string_view queue;
    /// retryd-parked-reason, whoever has written it; of what the broker dead-lettered the reason of its newest death;
    /// empty where it is unknown.
    std::string_view reason;
    /// Since when it is parked, in seconds; of what the broker dead-lettered the time of that newest death.
    std::optional<std::uint64_t> at;
    std::string_view death_reason;     // why it died in the work queue; may be empty
    std::int64_t attempts = 0;         // 0 where it is not known
    bool by_retryd = false;            // as its proof says; else by the broker, an earlier retryd, or another client
    std::optional<core::Death> death;  // in `queue`, where x-death tells of it
    core::RetryHistory carried;        // of `queue`, as far as it is to be believed
};

/// The same as a time; nothing where it is unknown, or where what a header claims is beyond the year 9999.
std::optional<core::WallTime> parked_at(const Parked& parked);

/// That the producer published it to; empty where it is unknown, or the default one.
std::string_view exchange_of(const Parked& parked);

Parked read_parked(const core::Table& headers, std::string_view error_queue, const core::ProofKeys& keys);

/// As a HeaderMatch sees it; nothing where none can match.
std::optional<std::string> header_text(const core::Value* value);

struct HeaderMatch {
    std::string name;
    std::string value;  // a glob; numbers and truth values are compared as text
};

/// Some messages that were looked at before. It counts, for two messages may be equal in everything.
class MessageChoice {
  public:
    virtual ~MessageChoice() = default;
    /// A queue is looked at from its head on, maybe not for the first time.
    virtual void begin() = 0;
    /// Whether it is one of them, and not one more of the kind than was chosen.
    virtual bool take(const core::Message& message) = 0;
};

/// Which of them are meant: all conditions hold. One that is empty holds for every message.
struct Selection {
    std::string queue = {};   // a name or a glob
    std::string reason = {};  // a name or a glob
    std::optional<core::WallTime> parked_before = {};
    std::optional<core::WallTime> parked_after = {};
    std::vector<HeaderMatch> headers = {};
    std::string message_id = {};  // exactly that
    std::string exchange = {};    // that it was published to; a name or a glob
    std::string type = {};        // the property; a name or a glob
    /// As this one in everything that its publisher, or retryd, has written. Must outlive the selection.
    const core::Message* exactly = nullptr;
    /// Asked last, once for each message. Must outlive the selection.
    MessageChoice* among = nullptr;
    /// The run of `parked replay` that sent it last.
    std::string replay = {};

    bool everything() const {
        return queue.empty() && reason.empty() && !parked_before && !parked_after && headers.empty() &&
               message_id.empty() && exchange.empty() && type.empty() && exactly == nullptr && among == nullptr &&
               replay.empty();
    }
};

/// A message of which it is unknown when it was parked is neither older nor newer than anything.
bool selects(const Selection& selection, const Parked& parked, const core::Message& message);

/// The reason of what RabbitMQ cannot hand over by AMQP 0-9-1, of which no header can be read.
inline constexpr std::string_view undeliverable_reason = "undeliverable";
bool selects_undeliverable(const Selection& selection);

}  // namespace retryd::admin
