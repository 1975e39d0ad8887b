// The two connections of one session, behind relay::Broker: deliveries come in on one, publications go out on the
// other.
//
// Apart, because a broker under a memory or disk alarm stops reading from a connection that publishes: acks on the
// same connection would stall with it (read in rabbit_reader.erl of 3.8 to 4.3).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "amqp/declarer.h"
#include "amqp/events.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/relay.h"

namespace retryd::amqp {

class Connection;

/// What a session wants to tell its operator.
class BrokerSessionObserver {
  public:
    virtual ~BrokerSessionObserver() = default;
    /// The consumer is there: from now on rejected messages are dealt with.
    virtual void consuming() = 0;
    /// A queue that was there already is used although it lacks an argument; `note` says which and how to mend it.
    virtual void accepted(std::string_view note) = 0;
    /// The broker has stopped taking messages (memory or disk alarm), in its own words.
    virtual void blocked(std::string_view reason) = 0;
    virtual void unblocked() = 0;
};

class BrokerSession : public relay::Broker {
  public:
    /// Opens both connections; throws Error. `observer` must outlive it.
    BrokerSession(std::shared_ptr<const config::Settings> settings, const config::Endpoint& endpoint,
                  BrokerSessionObserver& observer);
    ~BrokerSession() override;
    BrokerSession(const BrokerSession&) = delete;
    BrokerSession& operator=(const BrokerSession&) = delete;

    core::BrokerVersion version() const;

    /// Declares the error exchange, the error queue and the catch-all, then consumes. `relay` gets the events from
    /// now on and must outlive the calls to turn(). All further calls throw Error when the session is over.
    void start(relay::Relay& relay);

    /// Goes on with other settings of the same connection, error queue and catch-all: consumes anew where that shows.
    void adopt(std::shared_ptr<const config::Settings> settings);

    /// Hands to the relay what is there, without waiting, and sends what it publishes. True if there may be more
    /// already.
    bool turn(const core::Now& now);

    /// Waits until a connection or `wake_fd` (none: -1) has something, or the time is over.
    void wait(int wake_fd, core::Milliseconds time);

    void stop_consuming();

    /// Of both connections.
    std::array<int, 2> sockets() const;

    /// When the last ack was sent.
    core::SteadyTime last_ack() const { return last_ack_; }

    /// Ends both connections so that the broker has read what was sent; waits at most so long for its answers. Never
    /// throws.
    void close(core::Milliseconds patience) noexcept;

    relay::PublishResult publish(const core::Publication& publication) override;
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
    void declare(std::string_view key, const core::Topology& topology) override;
    void check(std::string_view queue) override;
    void bind_to_return_exchange(std::string_view queue) override;

  private:
    static constexpr Channel relay_channel = 1;    // deliveries on the one connection, publications on the other
    static constexpr Channel declare_channel = 2;  // apart: a refused declare closes its channel

    class ConsumerEvents;
    class PublisherEvents;

    /// What is being declared under one key, item after item.
    struct Declaration {
        std::string key;
        core::Topology topology;
        std::size_t next = 0;
    };

    /// The connections that may have something to read.
    struct Readable {
        bool consuming = true;
        bool publishing = true;
    };

    void open_publishing_channel();
    void consume();
    void renew_consumer();

    bool drain();
    bool drain_both();
    Readable take_readable();
    bool drain_deliveries(Events& events);
    bool saturated() const;
    void require_confirms();

    void declare_base();
    void declare_base_again();
    void declare_or_use(const core::TopologyItem& item, Declarer::Sink sink);
    void tell_once(const std::string& text);
    void declare_next(const std::shared_ptr<Declaration>& declaration);

    std::shared_ptr<const config::Settings> settings_;
    BrokerSessionObserver& observer_;
    std::unique_ptr<Connection> consuming_;
    std::unique_ptr<Connection> publishing_;
    Declarer declarer_;
    relay::Relay* relay_ = nullptr;
    std::set<std::string> told_;  // by accepted()
    std::string consumer_tag_;
    std::uint16_t consumer_prefetch_ = 0;
    bool consume_answered_ = false;    // the broker knows that consumer
    bool consuming_reported_ = false;  // the operator knows that messages are consumed
    bool leaving_ = false;             // nothing is consumed any more
    core::Now now_{};
    core::SteadyTime last_ack_{};
    core::SteadyTime base_due_{};
    bool blocked_ = false;
    core::SteadyTime unblocked_at_{};
    bool reading_stopped_ = false;     // there may be deliveries that no poll() tells of
    Readable readable_;                // as the last wait() has seen it
    core::SteadyTime read_all_due_{};  // then both are read, whatever it has seen
};

}  // namespace retryd::amqp
