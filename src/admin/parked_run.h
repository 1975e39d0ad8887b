// One run through a parking queue: selected messages are sent back or dropped, all others stay where they are.
//
// delivery → selected? → compose → publish → confirm → ack. Sans-IO, like Relay: events come in as calls, commands go
// out through relay::PublishPort, time is an argument. Whatever is not acked the broker returns to the queue when the
// channel ends, so the worst that an early end can cause is a second copy.
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
#include "relay/acks.h"
#include "relay/broker.h"
#include "relay/in_flight.h"

namespace retryd::admin {

/// Spaces messages evenly over time, the first at once. If the broker takes nothing for a while, the rate does not
/// catch up in a burst.
class SendRate {
  public:
    /// 0: no limit.
    explicit SendRate(int per_second) : per_second_(per_second) {}

    bool due(core::SteadyTime now) { return per_second_ == 0 || now >= next(now); }

    /// When the next message is due; may be in the past.
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

/// Sends one message, then 2, 5, 10, 20, 50 …: a step begins when the one before is confirmed and has had some time to
/// fail.
class SendRamp {
  public:
    /// `on` is false: no limit.
    explicit SendRamp(bool on) : on_(on) {}

    bool due(core::SteadyTime now) const { return !on_ || (sent_ < step_ && now >= not_before_); }
    void sent() { ++sent_; }
    /// Once the step is sent and nothing of it is in flight, the next one is due after a while.
    void on_tick(bool any_in_flight, core::SteadyTime now) {
        constexpr core::Milliseconds to_fail{3'000};
        if (!on_ || sent_ < step_ || any_in_flight) return;
        step_ = following(step_);
        sent_ = 0;
        not_before_ = now + to_fail;
    }
    /// When the next step begins; nothing if it does not depend on the time.
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
        send,  // from a parking queue to the work queue, with attempts counted anew
        drop,
        archive,  // into a file, by the port, and then dropped
        home,     // from a rung to the work queue, as the rung would have sent it
        park      // from a rung
    };
    Action action = Action::send;
    Selection selection;
    std::size_t count = 0;             // how many messages to look at: those that were there at the start
    std::optional<std::size_t> first;  // at most so many of the selected ones
    /// An additional condition; empty: none.
    std::function<bool(const Parked& parked)> belongs = {};
    /// Ends the run at the first message that retryd parked later than `selection.parked_before` and not later than
    /// this: for a caller that only wants the head of the queue.
    std::optional<core::WallTime> stop_at_younger = {};
    std::size_t most_unacked = 0;  // how many unacked deliveries the first consumer may have
    /// How many bytes of selected messages may wait here for their turn. Deliveries beyond that are left on the socket,
    /// so they fill the broker's memory instead of ours.
    std::size_t most_waiting_bytes = std::size_t{256} * 1024 * 1024;
    std::string error_queue;
    core::ProofKeys proof_keys;

    // For messages that are sent.
    std::string from;                        // the parking queue
    std::string to;                          // empty: each message to its own work queue
    const core::Message* instead = nullptr;  // sent instead of the selected message; null: the message itself
    std::string id;                          // of this run
    std::string connection_user;             // a user-id other than this is moved to a header
    std::set<std::string, std::less<>> through_return;  // work queues that are reached through the return exchange
    /// For each work queue, where it parks: exchange and routing key; empty: the producer's.
    std::map<std::string, std::pair<std::string, std::string>, std::less<>> parking = {};
    /// The work queues that may be sent to; messages of all others stay. Not used with `to`.
    std::set<std::string, std::less<>> reachable;
    int per_second = 0;                     // 0: no limit
    bool ramp = false;                      // few messages at first, then more and more
    std::optional<std::size_t> stop_above;  // ends above so many failures; absent: never
};

/// looked_at = not_selected + came_back + without_destination + selected.
struct ParkedRunCounts {
    std::size_t looked_at = 0;
    std::size_t not_selected = 0;
    std::size_t came_back = 0;  // sent by this run, failed and parked again
    /// Selected, but the work queue is unknown or missing, and no other one was named.
    std::size_t without_destination = 0;
    std::size_t selected = 0;  // all others

    // What happened to the selected ones.
    std::size_t done = 0;       // confirmed or dropped, and acked
    std::size_t refused = 0;    // refused by the target queue: it stays
    std::size_t unrouted = 0;   // the target queue does not exist: it stays
    std::size_t too_large = 0;  // its headers do not fit into a frame: it stays
    std::size_t unknown = 0;    // sent, but never confirmed: it stays, and there may be two copies

    /// Seen to be rejected by a consumer after they were sent.
    std::size_t failed = 0;

    std::size_t failures() const { return failed + refused + unrouted + too_large; }
};

class ParkedRun {
  public:
    enum class End {
        none,         // not ended
        all,          // all messages that were there at the start were looked at, or enough were selected
        failures,     // more failures than allowed
        interrupted,  // by the operator
        held,         // the consumer is full of messages that all stay, and no further consumer may be started
        broker,       // the broker ended it or does not answer; ParkedRunResult::why says more
    };

    /// `port` must outlive it.
    ParkedRun(ParkedRunOrder order, relay::PublishPort& port);

    void on_delivery(const core::Delivery& delivery);
    /// A message whose headers nest too deep to be read: it stays.
    void on_unreadable_delivery(core::DeliveryTag tag);
    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked);
    void on_returned(std::string_view exchange, std::string_view routing_key);
    /// A consumer has rejected a message with these headers, perhaps one of this run.
    void on_rejected(const core::Table& headers);
    /// Ends the run without waiting any longer for outstanding confirms.
    void give_up_unconfirmed();

    /// Publishes what is due, and acks. Call once a turn.
    void on_tick(const core::Now& now);
    /// When on_tick next has something to do, if no event comes earlier.
    std::optional<core::SteadyTime> next_tick(core::SteadyTime now);

    /// Call when the socket is full or the broker is blocked.
    void pause() { paused_ = true; }
    void resume() { paused_ = false; }
    bool paused() const { return paused_; }

    void stop(End why) { end(why); }

    /// Whether more deliveries should be read now: not if too many wait for their turn.
    bool has_room() const;
    /// Whether any more messages are wanted.
    bool wants_more() const { return end_ == End::none; }
    /// Nothing waits and nothing is in flight: the consumer can be cancelled.
    bool finished() const { return end_ != End::none && waiting_.empty() && unconfirmed_.empty(); }
    std::size_t in_flight() const { return unconfirmed_.size(); }
    std::size_t waiting() const { return waiting_.size(); }
    std::optional<core::SteadyTime> unconfirmed_since() const { return unconfirmed_.oldest(); }
    void flush_acks();

    /// The consumer has as many unacked messages as it may, and all of them stay: a further consumer has to continue.
    bool consumer_full() const;
    /// A further consumer continues, with its own prefetch; its delivery tags start again at 1.
    void next_consumer(std::size_t most_unacked);

    bool sends() const {
        return order_.action != ParkedRunOrder::Action::drop && order_.action != ParkedRunOrder::Action::archive;
    }
    /// With `stop_at_younger`: when the message was parked at which the run ended, in seconds.
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
    std::deque<core::OwnedDelivery> waiting_;  // selected, waiting for their turn
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
