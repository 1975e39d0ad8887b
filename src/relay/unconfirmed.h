// Which confirm settles which delivery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/reporter.h"
#include "relay/ring.h"

namespace retryd::relay {

struct Target;

/// Tells what was published to one exchange with one routing key from all the rest. Two that share a hash by chance
/// only share a suspicion.
std::uint64_t hash_of_address(std::string_view exchange, std::string_view routing_key);

/// One publication that the broker has not confirmed yet.
struct Pending {
    core::DeliveryTag tag = 0;                      // the delivery to settle once this is confirmed
    std::shared_ptr<Target> target;                 // what it was sent to
    std::shared_ptr<const std::string> work_queue;  // null where it is not known
    Outcome outcome = Outcome::retried;
    std::string_view reason;  // of its death, or why it was parked; a literal
    core::SteadyTime sent_at;
    std::uint64_t published_as = 0;  // hash_of_address() of what it was published with
    bool redelivered = false;        // the broker had given it before
    bool returned = false;           // the broker may have handed it back: its confirm must not lead to an ack
    bool settled = false;            // confirmed; stays only until those before it are
};

/// Publications in the order of their sequence numbers. Confirms come out of order and coalesced (`multiple`); every
/// publication is settled once, numbers that are unknown or settled are ignored.
class Unconfirmed {
  public:
    /// Returns the number that the broker will confirm it under.
    PublishSeq add(Pending pending);

    /// Appends to `settled`, in order, what this confirm settles.
    void confirm(PublishSeq seq, bool multiple, std::vector<Pending>& settled);

    /// A basic.return carries no sequence number, so every unconfirmed publication with that exchange and routing key
    /// is under suspicion. (The broker writes the return before the confirm of the same publication, so none is missed:
    /// read in rabbit_channel.erl of 3.8 to 4.3.) Returns the targets that they were meant for, each once.
    std::vector<std::shared_ptr<Target>> mark_returned(std::uint64_t published_as);

    /// The channel is gone, and with it every number and every answer: all that was unsettled, in order. The next
    /// publication is number 1 again.
    std::vector<Pending> abandon();

    /// When the oldest one that is still unsettled was sent.
    std::optional<core::SteadyTime> oldest() const;

    std::size_t size() const { return unsettled_; }
    bool empty() const { return unsettled_ == 0; }

  private:
    void settle(Pending& pending, std::vector<Pending>& settled);

    Ring<Pending> pending_;  // pending_[i] has the number first_ + i
    PublishSeq first_ = 1;
    std::size_t unsettled_ = 0;
};

}  // namespace retryd::relay
