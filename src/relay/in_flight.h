// Which confirm settles which delivery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/reporter.h"

namespace retryd::relay {

struct Target;

/// One publication that the broker has not confirmed yet.
struct Pending {
    core::DeliveryTag tag = 0;                      // the delivery to settle once this is confirmed
    std::shared_ptr<Target> target;                 // what it was sent to
    std::shared_ptr<const std::string> work_queue;  // null where it is not known
    Outcome outcome = Outcome::retried;
    std::string_view reason;  // of its death, or why it was parked; a literal
    core::SteadyTime sent_at;
    bool redelivered = false;  // the broker had given it before
    bool returned = false;     // the broker may have handed it back: its confirm must not lead to an ack
    bool settled = false;      // confirmed; stays only until those before it are
};

/// Publications in the order of their sequence numbers. Confirms come out of order and coalesced (`multiple`); every
/// publication is settled once, numbers that are unknown or settled are ignored.
class InFlight {
  public:
    /// Returns the number that the broker will confirm it under.
    PublishSeq add(Pending pending);

    /// Appends to `settled`, in order, what this confirm settles.
    void confirm(PublishSeq seq, bool multiple, std::vector<Pending>& settled);

    /// A basic.return carries no sequence number, so every unconfirmed publication to that target is under suspicion.
    /// (The broker writes the return before the confirm of the same publication, so none is missed: read in
    /// rabbit_channel.erl of 3.8 to 4.3.)
    void mark_returned(const Target& target);

    /// The channel is gone, and with it every number and every answer: all that was unsettled, in order. The next
    /// publication is number 1 again.
    std::vector<Pending> abandon();

    /// When the oldest one that is still unsettled was sent.
    std::optional<core::SteadyTime> oldest() const;

    std::size_t size() const { return unsettled_; }
    bool empty() const { return unsettled_ == 0; }

  private:
    void settle(Pending& pending, std::vector<Pending>& settled);

    std::deque<Pending> pending_;  // pending_[i] has the number first_ + i
    PublishSeq first_ = 1;
    std::size_t unsettled_ = 0;
};

}  // namespace retryd::relay
