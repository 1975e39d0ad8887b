// What is in flight: publications that the broker has not confirmed yet, how many there may be to one target, and
// deliveries that are not settled yet.
//
// The broker answers in its own order and coalesced (`multiple`), and so do we: a confirm settles many publications,
// and an ack many deliveries. Both are kept in a Ring, a FIFO that does not allocate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/reporter.h"

namespace retryd::relay {

// ── Ring ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// A FIFO in one piece of memory that is used again and again.
///
/// Every message passes through two of them, and must not allocate on its way (tests/instructions counts that). A
/// std::deque, however short it stays, moves through memory: it allocates a block for every 512 bytes that are pushed
/// (GCC's libstdc++) and frees one for as many that are popped. A boost::circular_buffer stays in place but does not
/// grow: when it is full, push_back overwrites the oldest element, so growing would have to be written around it. And
/// relay uses no library.
///
/// Grows as need be and never shrinks. References are valid until the next push_back.
template <typename T>
class Ring {
  public:
    void push_back(T value) {
        if (size_ == slots_.size()) grow();
        slots_[place(size_)] = std::move(value);
        ++size_;
    }

    /// What the element owned is let go at once.
    void pop_front() {
        front() = T{};
        first_ = place(1);
        --size_;
    }

    void clear() {
        while (!empty())
            pop_front();
    }

    T& operator[](std::size_t index) { return slots_[place(index)]; }
    const T& operator[](std::size_t index) const { return slots_[place(index)]; }
    T& front() { return slots_[first_]; }
    const T& front() const { return slots_[first_]; }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

  private:
    /// The number of slots is a power of two.
    std::size_t place(std::size_t index) const { return (first_ + index) & (slots_.size() - 1); }

    void grow() {
        constexpr std::size_t fewest = 16;
        std::vector<T> larger(std::max(fewest, 2 * slots_.size()));
        for (std::size_t i = 0; i < size_; ++i)
            larger[i] = std::move((*this)[i]);
        slots_ = std::move(larger);
        first_ = 0;
    }

    std::vector<T> slots_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

// ── Publications ────────────────────────────────────────────────────────────────────────────────────────────────

struct Target;  // relay/routes.h

/// Tells what was published to one exchange with one routing key from all the rest. If two addresses share a hash by
/// chance, a basic.return for one is taken to be for the other, too: its message comes twice, none is lost.
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
    std::int64_t attempt = 0;        // as Settled has it
    bool was_held = false;           // …
    bool redelivered = false;        // the broker had delivered it before
    bool returned = false;           // the broker may have returned it: its confirm must not lead to an ack
    bool answered = false;           // by a confirm or a nack; stays only until those before it are
};

/// Which publications a confirm or nack answers. They are kept in the order of their sequence numbers; every one is
/// answered once, and numbers that are unknown or already answered are ignored.
class Unconfirmed {
  public:
    /// Returns the number that the broker will confirm it under.
    PublishSeq add(Pending pending);

    /// Appends to `answered`, in order, what this confirm or nack answers.
    void confirm(PublishSeq seq, bool multiple, std::vector<Pending>& answered);

    /// A basic.return carries no sequence number, so every unconfirmed publication with that exchange and routing key
    /// counts as returned. (The broker writes the return before the confirm of the same publication, so none is missed:
    /// read in rabbit_channel.erl of 3.8 to 4.3.) Returns the targets that they were meant for, each once.
    std::vector<std::shared_ptr<Target>> mark_returned(std::uint64_t published_as);

    /// The channel is gone, and with it every number and every answer: all that was unanswered, in order. The next
    /// publication is number 1 again.
    std::vector<Pending> abandon();

    /// When the oldest one that is still unanswered was sent.
    std::optional<core::SteadyTime> oldest() const;

    /// Whether the broker had delivered one of them before.
    bool any_redelivered() const;

    std::size_t size() const { return unanswered_; }
    bool empty() const { return unanswered_ == 0; }

  private:
    void answer(Pending& pending, std::vector<Pending>& answered);

    Ring<Pending> pending_;  // pending_[i] has the number first_ + i
    PublishSeq first_ = 1;
    std::size_t unanswered_ = 0;
};

// ── Deliveries ──────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── The flow to one target ──────────────────────────────────────────────────────────────────────────────────────────
//
// How many publications may be under way to one target: so many that nothing is held up where it answers, and so few
// that little is at stake where it does not.
//
// On a quorum queue without a leader the first publication of a channel makes the broker's channel hang for 30 s (it
// registers the channel with the queue: rabbit_fifo_client.erl, enqueue, 3.8 to 4.3), and later ones stay without any
// answer. So a target that has not confirmed anything yet gets few, and more with every confirm.

/// The pause after that many failures in a row: doubling from 1 s to 30 s.
core::Milliseconds backoff(int failures);

class TargetFlow {
  public:
    enum class Trouble {
        none,
        refusing,  // it nacks, returns, or closes the channel
        silent,    // it does not confirm; what was sent to it may have arrived
    };

    /// Whether one more may be sent. In trouble it is one at a time, each after a pause: it finds out whether the
    /// target takes messages again.
    bool takes(core::SteadyTime now) const;

    void sent(core::SteadyTime now);
    /// One was confirmed, which had been sent at that time: it is in no trouble, or no more. `redelivered`: the broker
    /// had delivered it before; all that are suspect are.
    void confirmed(core::SteadyTime sent_at, core::SteadyTime now, bool redelivered);
    /// One was refused, which had been sent at that time. `mended`: what may have been the reason is being put right,
    /// so that a first failure is no trouble yet.
    void refused(core::SteadyTime sent_at, core::SteadyTime now, bool mended);
    /// One was handed back, because its own address leads nowhere: that says nothing about the target's other
    /// addresses.
    void returned(core::SteadyTime now);
    /// A channel has waited too long for an answer. What is unanswered there is not under way any more: it may stay so
    /// for long, and must not keep a target that takes messages again from getting them.
    void silent(std::size_t unanswered, core::SteadyTime now);
    /// It was silent when the last connection ended: what it was sent there may arrive, and comes again.
    void was_silent(core::SteadyTime now);
    /// Once for each silence, when it has lasted for so long: a queue that is slow for a moment is no news.
    bool take_silence_report(core::SteadyTime now, core::Milliseconds after);
    /// That channel has answered, or is given up: what is unanswered there is under way again.
    void silence_over(std::size_t unanswered);
    /// It has answered when it was declared: if it was silent, it is tried again at once.
    void declared(core::SteadyTime now);
    /// What becomes of one will not be known: it is under way no more.
    void given_up();

    /// For a while one at a time: one of so many closes the channel, and has to be found.
    void one_at_a_time(std::size_t suspects, core::SteadyTime now);
    void suspect_found() { suspects_ = 0; }
    /// Whether one of those that were delivered before is still to be found.
    bool suspects(core::SteadyTime now) const { return suspects_ > 0 && now < suspects_until_; }

    Trouble trouble() const { return trouble_; }
    /// Publications that are under way, but for those on silent channels.
    std::size_t in_flight() const { return in_flight_; }
    /// Whether it takes messages, as far as can be known.
    bool proven() const { return trouble_ == Trouble::none && proven_; }
    /// For how long it has been in trouble; zero while a try is under way, which may find it well again.
    core::Milliseconds trouble_age(core::SteadyTime now) const {
        return trouble_ == Trouble::none || in_flight_ > 0 ? core::Milliseconds::zero() : now - since_;
    }
    /// Before one that could go nowhere else is tried again: longer with every failure, and with the trouble's age.
    core::Milliseconds pause(core::SteadyTime now) const;

  private:
    void begin(Trouble trouble, core::SteadyTime now);

    static constexpr std::size_t first_window = 4;

    std::size_t in_flight_ = 0;  // but for what is on silent channels
    std::size_t silent_channels_ = 0;
    std::size_t window_ = first_window;
    core::SteadyTime answered_at_{};
    bool proven_ = false;  // it has confirmed something
    Trouble trouble_ = Trouble::none;
    core::SteadyTime since_{};
    bool silence_unreported_ = false;
    bool was_silent_ = false;      // before it was declared
    core::SteadyTime next_try_{};  // in trouble
    int failures_ = 0;             // since the last confirm
    int unanswered_tries_ = 0;     // while it is silent, and since
    int silences_ = 0;             // since none of its channels was silent
    core::SteadyTime failed_at_{};
    std::size_t suspects_ = 0;
    core::SteadyTime suspects_until_{};
};

}  // namespace retryd::relay
