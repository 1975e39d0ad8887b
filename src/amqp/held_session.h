// Two connections of their own for held messages on their way home: queues of held messages are consumed on one, work
// queues are published to on the other. Each queue has a channel on both, so that one that hangs stops no other.
//
// Apart from the connections of BrokerSession: what goes wrong here ends nothing there.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "amqp/aside.h"
#include "amqp/declarer.h"
#include "amqp/events.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "relay/release.h"

namespace retryd::amqp {

class Connection;

/// Every call throws Error when a connection is lost.
class HeldSession {
  public:
    /// Connects. `settings` and `connection_closing_steps` must outlive it.
    HeldSession(const config::Endpoint& endpoint, const config::Broker& settings,
                ConnectionClosingSteps& connection_closing_steps);
    ~HeldSession();
    HeldSession(const HeldSession&) = delete;
    HeldSession& operator=(const HeldSession&) = delete;

    core::BrokerVersion version() const;

    /// One queue of held messages being consumed, and the way out for them.
    class Lane : public relay::ReleasePort {
      public:
        Lane(HeldSession& session, std::size_t slot) : session_(session), slot_(slot) {}

        relay::PublishResult publish(const core::Publication& publication) override;
        void ack(core::DeliveryTag tag, bool multiple) override;
        void requeue(core::DeliveryTag tag) override;

        /// The broker has taken the consumer away or closed a channel, in its words: the lane is to be closed.
        const std::string& ended() const { return ended_; }
        /// Nothing would come again that was acked, if it were closed now.
        bool acks_are_through(core::SteadyTime now) const;

      private:
        friend class HeldSession;
        HeldSession& session_;
        std::size_t slot_;
        relay::Release* release_ = nullptr;
        std::string queue_;
        std::string ended_;
        core::SteadyTime last_ack_{};
        bool consume_open_ = true;  // the channel
        bool publish_open_ = true;
        bool closing_ = false;
    };

    /// Null where as many are open as may be.
    Lane* open();
    /// Begins to consume. `release` gets the events, and must outlive the lane.
    void consume(Lane& lane, const std::string& queue, std::uint16_t prefetch, relay::Release& release);
    /// What is not acked goes back to its queue.
    void close(Lane& lane);

    /// Answered from within turn().
    void carry_out(Declarer::Step step, Declarer::Sink sink);

    /// Takes in what is there, without waiting, and sends.
    void turn(const core::Now& now);
    /// Until one of the connections has something, or the time is over.
    void wait(core::Milliseconds time);

    /// The broker takes no messages (memory or disk alarm).
    bool blocked() const { return blocked_; }
    /// Of both connections.
    std::array<int, 2> sockets() const;

  private:
    class ConsumerEvents;
    class PublisherEvents;

    static constexpr Channel first_declare_channel = 1;
    static constexpr Channel declare_channels = 4;
    static Channel consume_channel(const Lane& lane) { return static_cast<Channel>(1 + lane.slot_); }
    static Channel publish_channel(const Lane& lane) {
        return static_cast<Channel>(first_declare_channel + declare_channels + lane.slot_);
    }
    Lane* by_consume_channel(Channel channel);
    Lane* by_publish_channel(Channel channel);
    void forget_if_closed(Lane& lane);
    void drain();

    std::unique_ptr<Connection> consuming_;
    std::unique_ptr<Connection> publishing_;
    ConnectionClosingSteps& connection_closing_steps_;
    AsideDeclarer aside_;
    Declarer declarer_;
    std::map<std::size_t, std::unique_ptr<Lane>> lanes_;  // by slot
    std::size_t most_lanes_;
    core::Now now_{};
    bool blocked_ = false;
};

}  // namespace retryd::amqp
