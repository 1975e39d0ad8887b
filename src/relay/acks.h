// The ack: what became of each delivery, and when the broker is told.
//
// A delivery is settled once, by an ack, by a requeue at once or after a pause, or by dead-lettering. Acks are
// gathered: one with `multiple` settles many. Who decides on an ack is Publisher::settle (relay/publisher.h).
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/ring.h"

namespace retryd::relay {

/// The deliveries of one channel and what became of them, so that one ack settles many. Tags are those of the channel:
/// 1, 2, 3 … without a gap, in the order of delivery.
class AckTracker {
  public:
    void delivered(core::DeliveryTag tag);

    /// To be acked with a flush. Only the first ack() or forget() of a tag counts; another is ignored (the broker
    /// closes the channel with 406 on an ack for a tag that it does not know).
    void ack(core::DeliveryTag tag);

    /// No ack for it: the broker has been told to requeue or to dead-letter it.
    void forget(core::DeliveryTag tag);

    /// One ack with `multiple` for the oldest deliveries, up to the first open one.
    void flush(AckPort& port);

    /// Acks that have not been sent. After flush(): those behind an open delivery.
    std::size_t unsent() const { return to_ack_; }

    /// Acks those one by one. Not more often than needed: each is a command to a quorum queue, and those that queue up
    /// on their way are forgotten by the broker when the channel ends, so that their messages come again.
    void flush_unsent(AckPort& port);

    /// Deliveries that are neither acked nor forgotten.
    std::size_t open() const { return open_; }
    /// No older one is open; it may not be itself.
    core::DeliveryTag oldest_open() const { return first_; }
    core::DeliveryTag last_delivered() const { return first_ + states_.size() - 1; }
    /// What the broker has not been told about, in order.
    std::vector<core::DeliveryTag> unsettled_tags() const;

  private:
    enum class State : unsigned char { open, to_ack, done };

    void close(core::DeliveryTag tag, State state);

    Ring<State> states_;  // states_[i] belongs to tag first_ + i
    core::DeliveryTag first_ = 1;
    std::size_t open_ = 0;
    std::size_t to_ack_ = 0;
    core::DeliveryTag first_to_ack_ = 0;  // no older one is to be acked
};

/// Deliveries to be requeued, each when its pause is over.
class DelayedRequeues {
  public:
    void add(core::SteadyTime due, core::DeliveryTag tag);
    /// One that is due, taken out; nothing when there is none.
    std::optional<core::DeliveryTag> take_due(core::SteadyTime now);
    /// When the next one is due.
    std::optional<core::SteadyTime> next() const;
    std::size_t size() const { return heap_.size(); }

  private:
    struct Requeue {
        core::SteadyTime due;
        core::DeliveryTag tag;
        bool operator>(const Requeue& other) const { return due > other.due; }
    };
    std::vector<Requeue> heap_;  // the next due first
};

/// The deliveries of one session that are not settled yet, and how each is: acked, requeued at once or after a pause,
/// or dead-lettered. How long the oldest has waited.
class Deliveries {
  public:
    explicit Deliveries(Broker& broker) : broker_(broker) {}

    void delivered(core::DeliveryTag tag);

    /// Goes out with a flush.
    void ack(core::DeliveryTag tag) { acks_.ack(tag); }
    /// The broker delivers it again.
    void requeue(core::DeliveryTag tag);
    /// The same once the pause is over, by requeue_due().
    void requeue_at(core::SteadyTime due, core::DeliveryTag tag) { requeues_.add(due, tag); }
    /// As requeue_at(), for one that can go nowhere. Each delivery is young: a message that goes back after a pause
    /// comes as another one. So what has come again and still can go nowhere prolongs the wait that is reported; what
    /// has come for the first time does not.
    void requeue_stranded(core::SteadyTime until, core::DeliveryTag tag, bool redelivered, core::SteadyTime now);
    /// The broker moves it to the catch-all itself.
    void dead_letter(core::DeliveryTag tag);
    /// See Broker::keep().
    bool keep(core::DeliveryTag tag, std::string_view why);

    void requeue_due(core::SteadyTime now);
    /// Sends the acks that have gathered; those behind a delivery that is still open wait a little, in the hope of
    /// going with it. `some_stay_open`: some stay open for long.
    void flush(bool some_stay_open, core::SteadyTime now);
    /// Sends them all.
    void flush_all();
    /// Keeps the age of the oldest: call several times a second.
    void note_time(core::SteadyTime now);

    /// Since when the oldest has waited that is not settled, to the second; what goes back and comes again, too.
    std::optional<core::SteadyTime> unsettled_since() const;
    /// When requeue_due() or flush() has something to do next.
    std::optional<core::SteadyTime> next_due() const;
    /// Neither acked nor given back.
    std::size_t open() const { return acks_.open(); }
    /// Of those, what waits for its pause to be over.
    std::size_t pausing() const { return requeues_.size(); }
    /// All that the broker would deliver again if the connection ended now.
    std::size_t redelivered_if_lost() const { return acks_.open() + acks_.unsent(); }
    /// The tags of those, in order, and of the last delivery at all.
    std::vector<core::DeliveryTag> unsettled() const { return acks_.unsettled_tags(); }
    core::DeliveryTag last_delivered() const { return acks_.last_delivered(); }
    /// So many were open at once: as much of the prefetch as has been seen.
    std::size_t most_open() const { return most_open_; }
    /// The prefetch may be smaller now.
    void forget_most_open() { most_open_ = acks_.open(); }

  private:
    Broker& broker_;
    AckTracker acks_;
    std::optional<core::SteadyTime> late_acks_due_;  // when those behind an open delivery are sent
    DelayedRequeues requeues_;
    std::size_t most_open_ = 0;

    /// Messages that could go nowhere have gone back to the error queue, come again and gone back, all the time since;
    /// and until then those that have will be there again, or are there.
    std::optional<core::SteadyTime> stranded_since_;
    core::SteadyTime stranded_until_{};

    /// At that time so many deliveries had come.
    struct Moment {
        core::DeliveryTag delivered = 0;
        core::SteadyTime time{};
    };
    std::deque<Moment> moments_;  // one a second, as far back as the oldest delivery that is not settled
};

}  // namespace retryd::relay
