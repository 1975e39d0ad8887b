// Consumes the error queue, on a connection of its own: with how many consumers, on which channels, and what is told
// when nothing comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amqp/connection.h"
#include "amqp/consumer_probe.h"
#include "amqp/consuming_channels.h"
#include "amqp/declarer.h"
#include "amqp/delivery_numbers.h"
#include "amqp/error_queue_watch.h"
#include "amqp/events.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "relay/head_trial.h"
#include "relay/relay.h"

namespace retryd::amqp {

class BrokerSessionObserver;

class ErrorQueueConsumer : private Events, private ConsumingChannels::Commands, private ErrorQueueWatch::Commands {
  public:
    /// What it works with; the references must outlive it.
    struct Session {
        const config::Endpoint& endpoint;
        Connection& connection;
        Declarer& declarer;
        BrokerSessionObserver& observer;
        relay::HeadTrial& trial;
        DeliveryNumbers& numbers;  // channels are known there by their own numbers
        core::BrokerFeatures features;
        std::function<void()> consuming;  // messages come: each time that the broker has answered basic.consume
    };
    /// What the other connection knows.
    struct Broker {
        bool blocked = false;
        core::SteadyTime unblocked_at{};
    };

    /// `numbered`: deliveries have numbers of their own from the beginning.
    ErrorQueueConsumer(Session session, std::shared_ptr<const config::Settings> settings, bool numbered);

    /// `relay` gets the deliveries, and must outlive it. Once; later calls do nothing.
    void consume(relay::Relay& relay);
    bool began() const { return relay_ != nullptr; }
    /// Goes on with other settings: consumes anew where that shows.
    void adopt(std::shared_ptr<const config::Settings> settings);
    void stop();
    void close(core::Milliseconds patience) noexcept { probe_.close(patience); }
    /// The broker has answered a basic.consume.
    bool consumed() const { return reported_; }

    /// To be called before the connection is drained into events().
    void begin_turn(const core::Now& now) { now_ = now; }
    Events& events() { return *this; }
    /// The rest of a turn. `read_all`: everything that the broker has sent so far.
    void turn(const Broker& broker, bool read_all);
    std::optional<core::SteadyTime> next_tick() const;
    /// For poll(), beside that of the connection; -1 where there is none now.
    int further_fd() const { return probe_.fd(); }

    // ── Of a delivery ──

    /// Whether deliveries have numbers of their own, and not the tags of the only channel.
    bool numbered() const { return numbered_; }
    void ack(const DeliveryNumbers::Origin& origin, bool multiple);
    void requeue(const DeliveryNumbers::Origin& origin);
    void reject(const DeliveryNumbers::Origin& origin);
    /// As long as they have no numbers.
    static DeliveryNumbers::Origin of_only_channel(core::DeliveryTag tag) { return {only_channel, tag}; }

    /// How many deliveries may be unsettled.
    std::size_t window() const;
    /// How many may become so, when all is done to make up for those that stay so for long; nothing: any number.
    std::optional<std::size_t> largest_window() const;
    /// They come one at a time on each channel: an ack that waits for another one holds up the next.
    bool delivers_singly() const { return channels_.one_at_a_time(); }

  private:
    using Question = ConsumingChannels::Question;

    void on_delivery_on(Channel channel, const core::Delivery& delivery) override;
    void on_unreadable_delivery_on(Channel channel, core::DeliveryTag tag) override;
    void on_qos_ok(Channel channel) override { channels_.answered(channel, Question::qos); }
    void on_consume_ok_on(Channel channel) override;
    void on_cancel_ok_on(Channel channel) override { channels_.answered(channel, Question::cancel); }
    void on_consumer_cancelled_on(Channel channel) override;
    void on_channel_closed(const ChannelClosed& closed) override;
    void on_channel_left(Channel channel) override;

    void open(Channel channel, bool spare) override;
    void ask(Channel channel) override { set_prefetch(channel); }
    void cancel(Channel channel) override;
    void give_back(Channel channel) override { session_.connection.give_back_all(channel); }
    void close(Channel channel) override { session_.connection.close_channel(channel); }
    bool is_idle(Channel channel) const override { return session_.numbers.open(channel).messages == 0; }
    bool receives(Channel channel) const override { return session_.connection.receiving(channel); }

    /// What it consumes with on one channel.
    struct Consuming {
        std::uint16_t prefetch = 0;
        bool spare = false;
        std::vector<std::string> tags;
    };

    void number_from_now_on();
    void begin(Channel channel);
    void set_prefetch(Channel channel);
    void add_consumer(Channel channel);
    void consume_more();
    void renew();
    bool main_answers() const;
    std::uint16_t main_prefetch() const;
    void look_at_trial();
    void end_trial();
    void look_at_channels(bool read_all);
    void watch_error_queue(bool read_all);
    bool has_room() const;
    bool may_probe() const;
    void look() override;
    void probe() override { probe_.ask(settings_->policy.error_queue); }
    void looked(const Declarer::Outcome& outcome, core::SteadyTime asked_at, std::size_t consumers_made);
    void tell_silence();
    void tell_not_asked();

    Session session_;
    std::shared_ptr<const config::Settings> settings_;
    relay::Relay* relay_ = nullptr;
    ConsumingChannels channels_;
    std::map<Channel, Consuming> consuming_;
    bool numbered_;
    std::string consumer_tag_;        // each consumer has it, and a number if it is not the first
    std::size_t consumers_made_ = 0;  // on this connection
    core::SteadyTime more_due_{};     // no other one is added before
    bool reported_ = false;           // that messages are consumed
    bool leaving_ = false;            // nothing is consumed any more
    bool one_at_a_time_ = false;      // the operator knows that
    ErrorQueueWatch watch_;
    ConsumerProbe probe_;
    std::string silence_;        // what is told of it; empty: it works, as far as is known
    bool cannot_probe_ = false;  // the operator knows that
    core::Now now_{};
    Broker broker_;
};

}  // namespace retryd::amqp
