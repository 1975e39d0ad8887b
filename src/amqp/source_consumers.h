// The consumers of sources, each on a connection of its own: however much lies there, and whatever ends such a
// connection, the error queue goes on.
#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/connection.h"
#include "amqp/events.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::amqp {

/// What they bring. `source`: its place in the list of the policy.
class SourceEvents {
  public:
    virtual ~SourceEvents() = default;
    virtual void on_source_delivery(std::size_t source, const core::Delivery& delivery) = 0;
    virtual void on_unreadable_source_delivery(std::size_t source, core::DeliveryTag tag) = 0;
    /// Its channel has ended: what it delivered cannot be settled any more, and comes again.
    virtual void on_source_ended(std::size_t source) = 0;
    /// It is not consumed; `note` says why, what that means, and what mends it.
    virtual void on_source_unavailable(std::string_view note) = 0;
};

class SourceConsumers {
  public:
    /// Opens the connections; throws Error. `events` must outlive it.
    SourceConsumers(const config::Settings& settings, const config::Endpoint& endpoint, SourceEvents& events);
    ~SourceConsumers();

    void start();
    /// Hands over what is there, without waiting; of nobody more than of the others. `take`: else it only keeps the
    /// connections alive. True if there may be more. Throws Error when a connection that was lost has to be opened
    /// again, which takes a new session.
    bool turn(const core::Now& now, bool take);
    void ack(std::size_t source, core::DeliveryTag tag, bool multiple);
    void requeue(std::size_t source, core::DeliveryTag tag);
    /// For what cannot be published: the broker's own dead-lettering would lead away from retryd, or to nowhere. It
    /// stays unacked meanwhile.
    void requeue_later(std::size_t source, core::DeliveryTag tag);
    void stop();
    void close(core::Milliseconds patience) noexcept;
    /// Adds what wait() has to look at.
    void add_to(std::vector<pollfd>& fds, bool take) const;

  private:
    struct Consumer;
    class ConsumerEvents;
    struct Waiting {
        core::SteadyTime due{};
        std::size_t source = 0;
        core::DeliveryTag tag = 0;
    };

    void consume(Consumer& consumer);
    void consume_again();
    void requeue_what_is_due();
    bool drain(Consumer& consumer, bool take);
    void give_up(Consumer& consumer, std::string_view why);
    void lose(Consumer& consumer, std::string_view why);
    template <class Command>
    void command(std::size_t source, const Command& command);

    SourceEvents& events_;
    std::uint16_t prefetch_ = 0;
    std::vector<std::unique_ptr<Consumer>> consumers_;
    std::deque<Waiting> waiting_;  // the first one is due first
    core::SteadyTime now_{};
    bool leaving_ = false;
};

}  // namespace retryd::amqp
