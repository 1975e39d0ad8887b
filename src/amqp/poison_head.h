// Gets rid of a message at the head of a queue that the broker cannot hand over (relay/head_trial.h).
//
// Only while no other message is in front of it: what a quorum queue takes back goes behind what it took back before,
// so that two of them would take turns, and both would come to the limit.
//
// Nothing but a delivery limit takes it away: each connection that it ends counts as a delivery in vain, and beyond the
// limit of the queue the broker dead-letters it, for which it need not be expressed in AMQP 0-9-1. So one connection
// after the other takes nothing but the head of the queue. Each costs a few round trips, and about 10 ms of a broker
// that has nothing else to do; it also writes why to its log, each time.
//
// A message that the broker is busy with writing meanwhile is left to a connection of its own (BlockedHeadConnections),
// so that the next connection gets what is behind it. When it has been written and its headers nest too deep to be
// read, it is dead-lettered there: back in the queue, the broker would write it from the beginning, for whoever gets it
// next.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "amqp/events.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::amqp {

class Connection;

/// A connection that finds out what is at the head of a queue. Consumes with a prefetch of 1. As long as it lives, the
/// broker gives what is at the head to nobody else. Destroyed without close() it drops the connection, which counts as
/// a delivery in vain.
class HeadProbe : private Events {
  public:
    enum class Sees {
        connection_closed,  // by the broker: it cannot hand over what is there
        message,            // one that can be handed over; it went back, is kept, or dead_lettered()
        nothing,            // the queue is empty, or another daemon has its head
        silence,            // the broker answers nothing on the channel: it is busy with writing what is there
    };

    /// What becomes of a message whose headers nest too deep to be read.
    enum class Unreadable {
        goes_back,
        dead_lettered,  // by the broker, as that queue does with what is rejected
    };

    HeadProbe(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
              Unreadable unreadable = Unreadable::goes_back);
    /// Over a connection that nobody has used yet.
    HeadProbe(std::unique_ptr<Connection> connection, const std::string& queue,
              Unreadable unreadable = Unreadable::goes_back);
    ~HeadProbe() override;
    HeadProbe(const HeadProbe&) = delete;
    HeadProbe& operator=(const HeadProbe&) = delete;

    /// Takes as long as it takes to know. Throws Error. After silence it may be kept, after anything else not.
    Sees look();
    /// The same, but a message that can be handed over stays with this, until give_back(). So long the broker may be
    /// silent: one under load may well be.
    Sees look_and_keep(core::Milliseconds silence);
    /// What was kept goes back, which counts as no delivery in vain where the broker makes that difference, if this
    /// lives for ack_linger thereafter.
    void give_back();
    /// Serves the heartbeats of one that keeps a message: to be called every few seconds.
    void serve();

    /// After silence, now and then, which serves its heartbeats too: what has come after all goes back, if it is not
    /// dead-lettered. False when it is of no use any more. Waits for a second or so at most, never throws.
    bool keep_waiting(core::SteadyTime now) noexcept;
    /// What came could not be read, and is dead-lettered.
    bool dead_lettered() const { return dead_lettered_; }

  private:
    void on_consume_ok() override;
    void on_qos_ok(Channel channel) override;
    void on_delivery(const core::Delivery& delivery) override;
    void on_unreadable_delivery(core::DeliveryTag tag) override;
    void on_channel_closed(const ChannelClosed& closed) override;

    std::optional<Sees> seen();
    core::Milliseconds waited() const;
    void wait(core::Milliseconds time) const;
    void linger();

    std::unique_ptr<Connection> connection_;
    const Unreadable unreadable_;
    core::SteadyTime since_{};  // when the broker last owed something new
    int answers_owed_ = 0;      // to basic.qos
    bool consuming_ = false;
    bool keeps_ = false;
    core::Milliseconds patience_;  // with its answer
    bool asked_ = false;
    std::optional<core::DeliveryTag> delivered_;
    bool dead_lettered_ = false;
    std::optional<core::SteadyTime> settled_at_;
};

/// Messages that the broker is busy with writing, for minutes (headers that nest tens of thousands of levels deep),
/// each on a connection of its own that nobody waits for. So they delay no other message while what is behind them in
/// the queue has to come one at a time (relay/head_trial.h), or ends connections (exhaust_delivery_limit): it would end
/// the one that they are on, too, and the broker would write them from the beginning.
///
/// Belongs to one thread.
class BlockedHeadConnections {
  public:
    /// Each keeps the broker busy: more than these would make it slow for all.
    static constexpr std::size_t most = 32;

    BlockedHeadConnections();
    ~BlockedHeadConnections();
    BlockedHeadConnections(const BlockedHeadConnections&) = delete;
    BlockedHeadConnections& operator=(const BlockedHeadConnections&) = delete;

    /// Takes over what has seen nothing but silence. False, and drops it, if there are too many.
    bool keep(std::unique_ptr<HeadProbe> head);
    std::size_t size() const { return heads_.size(); }

    /// To be called several times a second: what the broker has written after all goes back to the queue, or is
    /// dead-lettered. Costs nothing while there is none.
    void turn(core::SteadyTime now);
    /// How many were dead-lettered since the last call.
    std::size_t take_dead_lettered() { return std::exchange(dead_letterings_, 0); }
    /// One more was, as soon as it was looked at.
    void note_dead_lettered() { ++dead_letterings_; }
    /// All go back to the queue. The broker begins them anew, which is the matter of whoever gets them.
    void release();

  private:
    std::vector<std::unique_ptr<HeadProbe>> heads_;
    std::size_t dead_letterings_ = 0;
    core::SteadyTime due_{};
};

struct PoisonHead {
    enum class State {
        none,     // nothing is handed over to us: the queue is empty, another daemon has its head, or too many are set
                  // aside
        another,  // one that can be handed over; it went back, behind what came back before
        stays,    // after most_attempts: no limit is in effect
        stopped,  // go_on() said so
    };
    State state = State::none;
    int connections_ended = 0;
    bool set_any_aside = false;  // one that the broker is busy with, or that cannot be read
};

inline constexpr core::Milliseconds poison_head_pause{20};
/// Enough for one message and the limit that retryd declares, and some more.
inline constexpr int poison_head_attempts = 130;
/// Where it is known that there is that limit: several messages may take turns.
inline constexpr int most_poison_head_attempts = 5'000;

struct ProbedQueue {
    const config::Endpoint& endpoint;
    const config::Broker& settings;
    const std::string& name;
    HeadProbe::Unreadable unreadable = HeadProbe::Unreadable::goes_back;
};

/// Ends at most so many connections over the head of that queue; while go_on(), which is asked before each. What can be
/// handed over goes back at once; what cannot be read is dead-lettered where that is asked for, and it goes on, for
/// some dozen of them; what the broker needs long for is in `blocked` then. Throws Error where there is no connection.
/// `pause`: between two of them. Not less than poison_head_pause: the broker may say that it ends a connection before
/// the queue has taken the message back, and for a moment another one is at the head.
PoisonHead exhaust_delivery_limit(const ProbedQueue& queue, BlockedHeadConnections& blocked, int most_attempts,
                                  core::Milliseconds pause, const std::function<bool()>& go_on);

}  // namespace retryd::amqp
