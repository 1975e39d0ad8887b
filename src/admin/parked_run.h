// One run through a parking queue: what is selected is sent back or dropped, all the rest stays as it lies.
//
// delivery → selected? → compose → publish → confirm → ack. Sans-IO, as Relay: events come in as calls, commands go
// out through relay::PublishPort, time is an argument. What is not acked the broker gives back to the queue when the
// channel ends, so that an end at any point costs a second copy at worst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/parked.h"
#include "admin/replay.h"
#include "core/message.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/in_flight.h"

namespace retryd::admin {

/// So many a second, evenly. The first is due at once. What could not be sent in time (the broker took nothing) is not
/// made up for in a burst.
class SendRate {
  public:
    /// 0: as fast as it goes.
    explicit SendRate(int per_second) : per_second_(per_second) {}

    bool due(core::SteadyTime now) { return per_second_ == 0 || now >= next(now); }

    /// When the next one is due; it may be past.
    core::SteadyTime next(core::SteadyTime now) {
        constexpr core::Milliseconds longest_lag{1'000};
        if (per_second_ == 0) return now;
        const core::SteadyTime planned = start_ + core::Milliseconds{1'000 * sent_ / per_second_};
        if (sent_ > 0 && now - planned <= longest_lag) return planned;
        start_ = now;
        sent_ = 0;
        return now;
    }

    void sent() { ++sent_; }

  private:
    int per_second_;
    core::SteadyTime start_{};
    std::int64_t sent_ = 0;
};

/// One message, then 2, 5, 10, 20, 50 …: each step when the one before is confirmed, and has had a while to fail.
class SendRamp {
  public:
    /// Off: all may go at once.
    explicit SendRamp(bool on) : on_(on) {}

    bool due(core::SteadyTime now) const { return !on_ || (sent_ < step_ && now >= not_before_); }
    void sent() { ++sent_; }
    /// The step is sent and nothing of it is under way: the next one is due after a while.
    void on_tick(bool any_in_flight, core::SteadyTime now) {
        constexpr core::Milliseconds to_fail{3'000};
        if (!on_ || sent_ < step_ || any_in_flight) return;
        step_ = following(step_);
        sent_ = 0;
        not_before_ = now + to_fail;
    }
    /// When a step begins; nothing where that is not a matter of time.
    std::optional<core::SteadyTime> next() const {
        if (!on_ || sent_ < step_) return on_ ? std::optional{not_before_} : std::nullopt;
        return std::nullopt;
    }

  private:
    /// 1, 2, 5, 10, 20, 50 …
    static std::size_t following(std::size_t step) {
        std::size_t unit = 1;
        while (step >= 10 * unit)
            unit *= 10;
        return step / unit == 2 ? step / 2 * 5 : step * 2;
    }

    bool on_;
    std::size_t step_ = 1;
    std::size_t sent_ = 0;
    core::SteadyTime not_before_{};
};

struct ParkedRunOrder {
    enum class Action {
        send,  // home from a parking queue, with a fresh count
        drop,
        archive,  // into a file, through the port, and then dropped
        home,     // from a rung, as the rung would have sent it
        park      // from a rung
    };
    Action action = Action::send;
    Selection selection;
    std::size_t count = 0;             // how many messages to look at: no more than lay there at the start
    std::optional<std::size_t> first;  // of the selected only so many
    /// Only those of which it says so, besides; empty: all.
    std::function<bool(const Parked& parked)> belongs = {};
    /// Ends before the first message that retryd parked later than `selection.parked_before` and not after this: for
    /// who looks at the head alone.
    std::optional<core::WallTime> stop_at_younger = {};
    std::size_t most_held = 0;  // as many unacked deliveries as the first consumer may have
    /// Of what is selected and waits for its turn: what is not taken in fills the broker's memory instead of ours.
    std::size_t most_waiting_bytes = std::size_t{256} * 1024 * 1024;
    std::string error_queue;
    core::ProofKeys proof_keys;

    // For sending.
    std::string from;                                   // the parking queue
    std::string to;                                     // empty: each to its own work queue
    const core::Message* instead = nullptr;             // this goes in the place of what is selected; null: that itself
    std::string id;                                     // of this run
    std::string connection_user;                        // a foreign user-id is set aside
    std::set<std::string, std::less<>> through_return;  // these work queues are sent to through the return exchange
    /// Where each work queue parks: exchange and routing key; empty: what the producer used.
    std::map<std::string, std::pair<std::string, std::string>, std::less<>> parking = {};
    /// What may be sent to: these work queues. The messages of all others stay. Means nothing with `to`.
    std::set<std::string, std::less<>> reachable;
    int per_second = 0;                     // 0: as fast as it goes
    bool ramp = false;                      // a few first, then more and more
    std::optional<std::size_t> stop_above;  // failures; absent: whatever fails
};

/// looked_at = not_selected + came_back + without_destination + selected.
struct ParkedRunCounts {
    std::size_t looked_at = 0;
    std::size_t not_selected = 0;
    std::size_t came_back = 0;  // of this very run: it failed again and was parked again
    /// Selected, but its work queue is not known or missing, and no other was named.
    std::size_t without_destination = 0;
    std::size_t selected = 0;  // the rest

    // What became of the selected.
    std::size_t done = 0;       // sent and confirmed, or dropped; acked
    std::size_t refused = 0;    // by the queue that it was sent to: it stays
    std::size_t unrouted = 0;   // that queue is gone: it stays
    std::size_t too_large = 0;  // its headers do not fit a frame: it stays
    std::size_t unknown = 0;    // sent, but the answer never came: it stays, and may be there twice

    /// Rejected by a consumer after they were sent, as far as was seen.
    std::size_t failed = 0;

    std::size_t failures() const { return failed + refused + unrouted + too_large; }
};

class ParkedRun {
  public:
    enum class End {
        none,         // it goes on
        all,          // every message that lay there at the start was looked at, or as many as asked for were selected
        failures,     // more than it may be
        interrupted,  // by the operator
        held,         // the consumer has as many messages as it may have, none of them can go, and no other may go on
        broker,       // the broker ended it, or does not answer; ParkedRunResult::why says more
    };

    /// `port` must outlive it.
    ParkedRun(ParkedRunOrder order, relay::PublishPort& port);

    void on_delivery(const core::Delivery& delivery);
    /// Its headers nest too deep to be read: it stays.
    void on_unreadable_delivery(core::DeliveryTag tag);
    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked);
    void on_returned(std::string_view exchange, std::string_view routing_key);
    /// A consumer has rejected a message with these headers; it may be one of ours.
    void on_rejected(const core::Table& headers);
    /// Ends the run: what is not confirmed yet will not be any more, or is not waited for any longer.
    void give_up_unconfirmed();

    /// Publishes what is due, and acks. Once a turn.
    void on_tick(const core::Now& now);
    /// When on_tick has something to do next, as far as no event comes before.
    std::optional<core::SteadyTime> next_tick(core::SteadyTime now);

    /// The socket is full, or the broker takes no messages.
    void pause() { paused_ = true; }
    void resume() { paused_ = false; }
    bool paused() const { return paused_; }

    void stop(End why) { end(why); }

    /// Whether deliveries are to be taken in at this moment: not too many wait for their turn.
    bool has_room() const;
    /// Whether messages beyond those that came are wanted at all.
    bool wants_more() const { return end_ == End::none; }
    /// Nothing waits, nothing is in flight: the consumer may go.
    bool finished() const { return end_ != End::none && waiting_.empty() && unconfirmed_.empty(); }
    std::size_t in_flight() const { return unconfirmed_.size(); }
    std::size_t waiting() const { return waiting_.size(); }
    std::optional<core::SteadyTime> unconfirmed_since() const { return unconfirmed_.oldest(); }
    void flush_acks();

    /// The consumer holds as many messages as it may, and all of them stay: another one has to go on.
    bool consumer_full() const;
    /// Another one goes on, which may hold so many. Its delivery tags begin anew.
    void next_consumer(std::size_t most_held);

    bool sends() const {
        return order_.action != ParkedRunOrder::Action::drop && order_.action != ParkedRunOrder::Action::archive;
    }
    /// When that message was parked, in seconds, before which it has ended (`stop_at_younger`).
    std::optional<std::uint64_t> younger_at() const { return younger_at_; }
    End ended() const { return end_; }
    const ParkedRunCounts& counts() const { return counts_; }

  private:
    void end(End why);
    Parked read(const core::Table& headers) const;
    bool has_destination(const Parked& parked) const;
    void select(const core::Delivery& delivery);
    bool stops_before(const Parked& parked);
    void take(const core::Delivery& delivery);
    void send_waiting(const core::Now& now);
    relay::PublishResult send(const core::Delivery& delivery, const core::Now& now);
    core::Publication to_work_queue(const core::Message& message, const Parked& parked,
                                    const core::ComposeContext& context, const core::Now& now);
    core::Publication to_parking(const core::Message& message, const Parked& parked,
                                 const core::ComposeContext& context, const core::Now& now);
    void settle(const relay::Pending& pending, bool acked);
    void stop_at_too_many_failures();
    bool may_send() const;

    ParkedRunOrder order_;
    relay::PublishPort& port_;
    SendRate rate_;
    SendRamp ramp_;
    std::deque<core::OwnedDelivery> waiting_;  // selected, for their turn
    std::size_t waiting_bytes_ = 0;
    relay::Unconfirmed unconfirmed_;
    relay::AckTracker acks_;
    ParkedRunCounts counts_;
    ReplayScratch scratch_;
    std::vector<relay::Pending> confirmed_;  // scratch
    std::optional<core::SteadyTime> late_acks_due_;
    End end_ = End::none;
    bool paused_ = false;
    std::optional<std::uint64_t> younger_at_;
};

}  // namespace retryd::admin
