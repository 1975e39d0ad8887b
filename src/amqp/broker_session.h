// The two connections of one session, behind relay::Broker: deliveries come in on one, publications go out on the
// other.
//
// Apart, because a broker under a memory or disk alarm stops reading from a connection that publishes: acks on the
// same connection would stall with it (read in rabbit_reader.erl of 3.8 to 4.3).
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/aside.h"
#include "amqp/declarer.h"
#include "amqp/delivery_numbers.h"
#include "amqp/events.h"
#include "amqp/send_progress.h"
#include "amqp/session_topology.h"
#include "amqp/sources.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/failure.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/head_trial.h"
#include "relay/relay.h"

namespace retryd::amqp {

class Connection;
class ErrorQueueConsumer;
class SourceConsumers;

/// What a session wants to tell its operator.
class BrokerSessionObserver {
  public:
    virtual ~BrokerSessionObserver() = default;
    /// The consumer is there: from now on rejected messages are dealt with.
    virtual void consuming() = 0;
    /// A queue that was there already is used although it lacks an argument; `note` says which and how to fix it.
    virtual void accepted(std::string_view note) = 0;
    /// What could not be declared for want of a permission, and was used as it is there, can be again.
    virtual void declares_again(std::string_view note) = 0;
    /// The broker does not answer what it was asked, but the session goes on; `note` says what that means.
    virtual void unanswered(std::string_view note) = 0;
    /// The broker does not answer what it is asked about the error queue: nothing is known of it, and nothing may come
    /// from it. `note` says what that means. Over with error_queue_answers().
    virtual void error_queue_silent(std::string_view note) = 0;
    virtual void error_queue_answers() = 0;
    /// The error queue cannot be asked whether it has its majority, since the broker refuses what that takes. `note`
    /// says what that means. Over with error_queue_asked().
    virtual void error_queue_not_asked(std::string_view note) = 0;
    virtual void error_queue_asked() = 0;
    /// A message holds up the channel that consumes the error queue; the others are delivered on further ones, one at a
    /// time. `note` says what that means. Over with delivery_free().
    virtual void delivery_stuck(std::string_view note) = 0;
    virtual void delivery_free() = 0;
    /// The broker has stopped taking messages (memory or disk alarm), in its own words.
    virtual void blocked(std::string_view reason) = 0;
    virtual void unblocked() = 0;
    /// What RabbitMQ could not hand over is out of the way (relay::HeadTrial).
    virtual void trial_over() = 0;
    /// What lies in a source stays there, or some of it; `note` says why, what that means, and what fixes it.
    virtual void source_trouble(std::string_view source, SourceTrouble trouble, std::string_view note) = 0;
    virtual void source_works(std::string_view source, SourceTrouble trouble, std::string_view note) = 0;
};

class BrokerSession : public relay::Broker {
  public:
    /// Opens both connections; throws Error. `observer`, `trial`, `memories`, `connection_closing_steps` and
    /// `forbidden_declares` must outlive it.
    BrokerSession(std::shared_ptr<const config::Settings> settings, const config::Endpoint& endpoint,
                  BrokerSessionObserver& observer, relay::HeadTrial& trial, SourceMemories& memories,
                  ConnectionClosingSteps& connection_closing_steps, ForbiddenDeclares& forbidden_declares,
                  MakeAskLimitEffect ask_limit_effect);
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

    /// When turn() has something to do although the broker says nothing, as far as it is known.
    std::optional<core::SteadyTime> next_tick() const;

    /// Waits until a connection or `wake_fd` (none: -1) has something, or the time is over.
    void wait(int wake_fd, core::Milliseconds time);

    /// Those that the globs of the policy have found; all of them, each time.
    void consume_sources(const std::vector<FoundSource>& found);

    void stop_consuming();

    /// So many channels relay may publish on.
    std::size_t publishing_channels() const;

    /// Of both connections.
    std::array<int, 2> sockets() const;

    /// After an Error: the broker ended the connection that consumes with an error of its own (541). It cannot hand
    /// over one of the messages, as a rule; what was published meanwhile has nothing to do with it.
    bool has_undeliverable() const;
    /// After an Error: the broker ended the connection that declares in place of an answer. What it was asked is
    /// carried out aside from now on; false where all of that was so before.
    bool set_aside_ending_steps();
    /// After an Error: the broker ended that connection because the error queue did not answer a basic.consume. No
    /// message is at fault.
    bool consume_unanswered() const;
    /// It has answered one before.
    bool consumed() const;
    /// How many deliveries may have been unsettled at that moment.
    std::size_t window() const;
    /// Messages come one at a time on each channel: an ack that waits for another one holds up the next message.
    bool delivers_singly() const;

    /// When the last ack was sent.
    core::SteadyTime last_ack() const { return last_ack_; }

    /// Ends both connections so that the broker has read what was sent; waits at most so long for its answers. Never
    /// throws.
    void close(core::Milliseconds patience) noexcept;

    void open_publishing(relay::ChannelIndex channel) override;
    void close_publishing(relay::ChannelIndex channel) override;
    relay::PublishResult publish(relay::ChannelIndex channel, const core::Publication& publication) override;
    bool has_received_all() override;
    std::size_t largest_window() const override;
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
    bool keep(core::DeliveryTag tag, std::string_view why) override;
    void declare(std::string_view key, const core::Topology& topology) override { topology_.declare(key, topology); }
    void check(std::string_view queue) override { topology_.check(queue); }
    void bind_to_return_exchange(std::string_view queue) override { topology_.bind_to_return_exchange(queue); }

    /// How many messages are ready in the queue. `told` is called from within turn().
    void count(const std::string& queue, const SessionTopology::Counted& told) { topology_.count(queue, told); }

  private:
    static constexpr Channel first_declare_channel = 2;  // channel 1 is not used

    /// Those for declares come first, apart: a refused declare closes its channel. A question that a queue does not
    /// answer keeps its channel, so there are many where the broker allows many.
    Channel first_publishing_channel() const;
    Channel channel_of(relay::ChannelIndex index) const {
        return static_cast<Channel>(first_publishing_channel() + index);
    }

    class PublisherEvents;
    class FailureEvents;

    /// The connections that may have something to read.
    struct Readable {
        bool consuming = true;
        bool publishing = true;
    };

    void consume_once();

    bool drain();
    bool drain_both();
    Readable take_readable();
    bool drain_deliveries();
    bool no_room() const;
    bool saturated() const;
    bool wants_room() const;
    bool was_blocked() const;
    void require_answers();
    bool ended_over_step() const;

    std::shared_ptr<const config::Settings> settings_;
    BrokerSessionObserver& observer_;
    relay::HeadTrial& trial_;
    std::unique_ptr<Connection> consuming_;
    std::unique_ptr<Connection> publishing_;
    std::unique_ptr<FailureEvents> failures_;
    std::unique_ptr<SourceConsumers> sources_;  // null where there are none
    DeliveryNumbers numbers_;                   // of all deliveries, where they come on several channels
    core::FailureScratch scratch_;
    ConnectionClosingSteps& connection_closing_steps_;
    AsideDeclarer aside_;
    Declarer declarer_;
    SessionTopology topology_;
    std::unique_ptr<ErrorQueueConsumer> consumer_;
    relay::Relay* relay_ = nullptr;
    bool leaving_ = false;  // nothing is consumed any more
    core::Now now_{};
    core::SteadyTime last_ack_{};
    bool blocked_ = false;
    core::SteadyTime unblocked_at_{};
    core::SteadyTime heard_at_{};      // the last answer of the broker to anything that was published or asked
    SendProgress progress_;            // of the connection that publishes
    bool reading_stopped_ = false;     // there may be deliveries that no poll() tells of
    bool read_all_ = true;             // that the broker has sent on the connection that consumes
    std::vector<pollfd> polled_;       // scratch: both, what wakes, and those of the sources
    Readable readable_;                // as the last wait() has seen it
    core::SteadyTime read_all_due_{};  // then both are read, whatever it has seen
};

}  // namespace retryd::amqp
