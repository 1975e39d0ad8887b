// The consumers of the sources, each on a connection of its own, which is opened beside the daemon's loop: whatever
// ends it, and however long it takes to open it again, the error queue and the other sources go on.
//
// A source is a foreign queue. So nothing is given back to it that can be avoided, for each return counts towards a
// delivery limit that may delete the message; and nothing is left to its dead-lettering.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/background.h"
#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/events.h"
#include "amqp/poison_head.h"
#include "amqp/sources.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::amqp {

/// What all sources have in common.
struct SourceSettings {
    config::Endpoint endpoint;
    config::Broker broker;
    std::uint16_t prefetch = 0;  // of each
    std::string catch_all;
    MakeAskLimitEffect ask_limit_effect;
};

/// Of one source.
class SourceConsumer : private Events {
  public:
    /// Nothing is opened before start(). All that it refers to must outlive it.
    SourceConsumer(std::size_t source, std::string queue, const SourceSettings& settings, SourceMemory& memory,
                   SourceEvents& events);

    void start();
    /// It was not found any more; where it is still consumed, nothing happens.
    void retire();
    /// Hands over what is there, without waiting. True if there may be more. Never throws Error.
    bool turn(core::SteadyTime now);
    /// When turn() has something to do although the broker says nothing.
    std::optional<core::SteadyTime> next_tick() const;
    void ack(core::DeliveryTag tag, bool multiple);
    void requeue(core::DeliveryTag tag);
    /// A message of it can be published nowhere: it stays unacked for as long as the channel lasts, and another one is
    /// delivered instead of it.
    void keep(std::string_view why);
    /// The answer to SourceEvents::count_source; nothing where the broker has not said.
    void counted(std::optional<std::uint64_t> ready) { trial_.counted(ready, now_); }
    void stop();
    void abandon();
    void close(core::Milliseconds patience) noexcept;
    /// Adds what wait() has to look at.
    void add_to(std::vector<pollfd>& fds) const;

    const std::string& queue() const { return queue_; }
    bool retired() const { return retired_; }

  private:
    using Opening = Background<std::unique_ptr<Connection>>;
    /// What becomes of the head, and what has become of it.
    struct Look {
        admin::LimitEffect limit_effect;
        PoisonHead head;
    };
    using Looking = Background<Look>;

    void on_delivery(const core::Delivery& delivery) override;
    void on_unreadable_delivery(core::DeliveryTag tag) override;
    void on_consume_ok() override;
    void on_consumer_cancelled() override;
    void on_channel_closed(const ChannelClosed& closed) override;

    bool step();
    void begin();
    void resume();
    void open();
    void look_at_head();
    void take_opened();
    void take_look();
    void go_on_with(const PoisonHead& head);
    void leave_alone(const admin::LimitEffect& limit_effect);
    void consume();
    void add_consumer();
    void consume_more();
    void look_at_trial();
    void end_trial();
    void note_published();
    void give_up_channel(const std::string& why);
    void lose(const Error& error);
    bool is_undeliverable(const Error& error) const;
    core::Milliseconds next_pause();
    void report(SourceTrouble trouble, const std::string& note);
    void report_over(SourceTrouble trouble, const std::string& note);
    std::string& told(SourceTrouble trouble);
    void report_undeliverable(const Error& error);
    void report_standstill();
    void report_limited();
    void report_unlimited();
    void report_left_alone(const admin::LimitEffect& limit_effect);
    std::string policy_command() const;
    std::string drop_command() const;
    template <class Command>
    void command(const Command& command);

    const std::size_t source_;
    const std::string queue_;
    const SourceSettings& settings_;
    SourceEvents& events_;
    SourceMemory& memory_;
    relay::HeadTrial& trial_;  // of memory_
    std::unique_ptr<Opening> opening_;
    std::unique_ptr<Looking> looking_;
    std::unique_ptr<Connection> connection_;
    bool open_ = false;              // its channel
    bool consume_answered_ = false;  // the broker knows the last consumer
    std::uint16_t prefetch_ = 0;     // of the consumers of this channel
    std::vector<std::string> tags_;  // theirs
    int consumers_made_ = 0;         // none has the tag of an earlier one: see BrokerSession::add_consumer
    std::size_t kept_ = 0;           // on this channel
    std::optional<core::SteadyTime> due_;
    core::SteadyTime consuming_since_{};
    core::Milliseconds pause_{};
    bool may_open_ = false;       // the last look at the head has said so
    bool told_to_leave_ = false;  // until the memory says otherwise
    bool leaving_ = false;
    bool retired_ = false;
    std::string failed_;  // why the next turn loses it: what is being read from it now needs it until then
    std::string unavailable_, undeliverable_, unpublishable_;  // what the operator has been told
    core::SteadyTime now_{};
};

/// All of them.
class SourceConsumers {
  public:
    /// `memories` and `events` must outlive it.
    SourceConsumers(const config::Settings& settings, const config::Endpoint& endpoint,
                    MakeAskLimitEffect ask_limit_effect, SourceMemories& memories, SourceEvents& events);
    ~SourceConsumers();
    SourceConsumers(const SourceConsumers&) = delete;
    SourceConsumers& operator=(const SourceConsumers&) = delete;

    void start();
    /// All that there are now: consumes those that are new, and no longer asks for those that are gone.
    void found(const std::vector<FoundSource>& sources);
    /// Hands over what is there, without waiting; from each source as much as from the others. True if there may be
    /// more.
    bool turn(const core::Now& now);
    /// When turn() has something to do although the broker says nothing.
    std::optional<core::SteadyTime> next_tick() const;
    SourceConsumer& at(std::size_t source) const { return *consumers_[source].consumer; }
    /// As the policy has it.
    std::size_t place_in_policy(std::size_t source) const { return consumers_[source].place_in_policy; }
    std::size_t size() const { return consumers_.size(); }
    void stop();
    void close(core::Milliseconds patience) noexcept;
    /// Adds what wait() has to look at.
    void add_to(std::vector<pollfd>& fds) const;

  private:
    struct Source {
        std::unique_ptr<SourceConsumer> consumer;
        std::size_t place_in_policy = 0;
        bool by_glob = false;
    };

    void add(const std::string& queue, std::size_t place_in_policy, bool by_glob);

    const SourceSettings settings_;
    SourceMemories& memories_;
    SourceEvents& events_;
    std::vector<Source> consumers_;  // none is ever taken out: deliveries are known by their places
};

}  // namespace retryd::amqp
