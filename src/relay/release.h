// Held messages on their way home: delivery → publish to the work queue → confirm → ack, so many as may be sent.
//
// One Release serves one queue of held messages on one channel. Sans-IO, as Relay. What is not acked the broker gives
// back to the queue, in front and in its order, so that an end at any point costs a second copy at worst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/compose.h"
#include "core/message.h"
#include "core/time.h"
#include "relay/acks.h"
#include "relay/broker.h"
#include "relay/in_flight.h"

namespace retryd::relay {

class ReleasePort : public PublishPort {
  public:
    /// The broker delivers the message again, before those behind it.
    virtual void requeue(core::DeliveryTag tag) = 0;
};

class Release {
  public:
    struct Targets {
        std::string held_queue;
        std::string catch_all;        // for what has no home any more
        bool through_return = false;  // the work queue is bound to the return exchange, and its ladder is shared
        std::string connection_user;
        core::ProofKeys proof_keys = {};  // of the `retryd-*` headers
        /// Only its name and arguments tell what it is: a foreign queue may have them as well.
        bool only_proven = false;
    };

    /// `port` must outlive it.
    Release(Targets targets, ReleasePort& port) : targets_(std::move(targets)), port_(port) {}

    void on_delivery(const core::Delivery& delivery);
    /// It cannot be read, and stays.
    void on_unreadable_delivery(core::DeliveryTag tag);
    void on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now);
    /// Its work queue is gone: it is parked in the catch-all.
    void on_returned(std::string_view exchange, std::string_view routing_key);

    /// Sends home at most so many; returns how many.
    std::size_t send(std::size_t most, const core::Now& now);
    /// What has waited for too long is given back to the queue: the broker would take it back (consumer_timeout). And
    /// sends the acks.
    void on_tick(const core::Now& now);

    /// Deliveries that have not been sent home yet. Without any, send() has nothing to send.
    std::size_t waiting() const;
    /// Here, and not confirmed to be elsewhere.
    std::size_t not_home() const;
    /// Published and not confirmed.
    std::size_t in_flight() const { return unconfirmed_.size(); }
    /// Nothing would come twice if the channel ended, once the acks are through.
    bool settled() const { return unconfirmed_.empty() && acks_.unsent() == 0; }
    /// With `only_proven`: a message came that retryd has not put there. It stays, and so do all behind it.
    bool foreign() const { return foreign_; }
    /// … one came that it has.
    bool any_proven() const { return any_proven_; }
    /// Messages that are here and can go nowhere: their headers cannot be read, or do not fit a frame. Those behind
    /// them are sent as if they were not there.
    std::size_t stays() const { return stays_.size(); }
    /// Nothing is here at all, but for what stays.
    bool empty() const { return items_.empty() && settled(); }

    /// The broker has not answered for so long that it would take the deliveries back: the channels are to be opened
    /// anew, and what was sent may come twice.
    bool stuck(core::SteadyTime now) const;

    struct Counts {
        std::uint64_t home = 0;
        std::uint64_t parked = 0;   // as queue-gone
        std::uint64_t refused = 0;  // and tried again
    };
    const Counts& counts() const { return counts_; }

    /// The work queue that a queue of held messages belongs to, as a message in it says. What is said must fit the
    /// queue's name: any client may have put it there.
    static std::string_view work_queue_of(const core::Table& headers, std::string_view held_queue);

  private:
    enum class State : unsigned char { waiting, sent, gone, parking, settled };
    struct Item {
        core::OwnedDelivery delivery;
        core::SteadyTime since{};
        State state = State::waiting;
    };
    struct Staying {
        core::DeliveryTag tag;
        core::SteadyTime since{};
    };

    bool is_proven(const Item& item) const;
    core::ComposeContext context_of(const Item& item, std::string_view work_queue) const;
    PublishResult send_home(Item& item, const core::Now& now);
    PublishResult park(Item& item, const core::Now& now);
    PublishResult publish(Item& item, const core::Publication& publication, const core::Now& now);
    void settle(const Pending& pending, bool acked, const core::Now& now);
    void give_back(core::DeliveryTag tag);
    void forget_settled();

    Targets targets_;
    ReleasePort& port_;
    std::deque<Item> items_;
    std::deque<Staying> stays_;
    Unconfirmed unconfirmed_;
    AckTracker acks_;
    std::vector<Pending> confirmed_;  // scratch
    core::ComposeScratch scratch_;
    Counts counts_;
    core::SteadyTime not_before_{};  // after a refusal
    int refusals_ = 0;               // in a row
    bool foreign_ = false;
    bool any_proven_ = false;
};

}  // namespace retryd::relay
