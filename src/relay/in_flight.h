// What is in flight: publications that the broker has not confirmed yet, and how many there may be to one target.
//
// The broker answers in its own order and coalesced: a confirm with `multiple` settles many publications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
    /// Since when it is silent, and when it is tried again.
    struct Silence {
        core::SteadyTime since;
        core::SteadyTime next_try;
        bool operator==(const Silence&) const = default;
    };
    Silence silence() const { return {since_, next_try_}; }
    /// It was silent when the last connection ended: what it was sent may have arrived, and is delivered again. Its
    /// silence goes on as it was: connections that end one after the other must not put off its next try for ever.
    void was_silent(const Silence& silence);
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
    /// Whether it has ever taken one.
    bool has_confirmed() const { return proven_; }
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

/// By Target::key().
using SilentTargets = std::map<std::string, TargetFlow::Silence, std::less<>>;

}  // namespace retryd::relay
