// Asks a queue for a consumer, to learn whether it still agrees on anything; then the consumer is cancelled. It has the
// lowest priority, so it gets nothing as long as another one can take messages; what it gets nevertheless goes back.
//
// On a connection of its own, for RabbitMQ ends it if the queue does not answer (after 65 s, tried on 3.10.8 and
// 4.3.6). It is opened beside the daemon's loop when it is needed for the first time, and kept.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "amqp/background.h"
#include "amqp/connection.h"
#include "amqp/error_queue_watch.h"
#include "amqp/events.h"
#include "config/settings.h"
#include "core/time.h"

namespace retryd::amqp {

class ConsumerProbe : private Events {
  public:
    using Result = ErrorQueueWatch::Probed;

    ConsumerProbe(config::Endpoint endpoint, config::Broker settings)
        : endpoint_(std::move(endpoint)), settings_(std::move(settings)) {}

    /// Once the last question has its result.
    void ask(const std::string& queue) { queue_ = queue; }
    /// Without waiting; to be called in each turn. The result of what was asked, once. Never throws Error.
    std::optional<Result> turn(core::SteadyTime now);
    /// Of the last result: why nothing is known, in the broker's words.
    const std::string& why_unknown() const { return why_unknown_; }
    /// The broker has been asked, and has not answered.
    bool waits() const { return begun_; }
    /// For poll(): readable means that turn() has something to do; none as long as the broker is not asked.
    int fd() const { return begun_ && connection_ != nullptr ? connection_->fd() : -1; }
    void close(core::Milliseconds patience) noexcept;

  private:
    using Opening = Background<std::unique_ptr<Connection>>;

    bool asking() const { return !queue_.empty(); }
    void step();
    void open();
    void begin();

    void on_consume_ok() override;
    void on_cancel_ok() override;
    void on_channel_left(Channel) override { result_ = Result::answered; }
    void on_channel_closed(const ChannelClosed& closed) override;
    void on_delivery(const core::Delivery& delivery) override { on_unreadable_delivery(delivery.tag); }
    void on_unreadable_delivery(core::DeliveryTag tag) override;
    void on_consumer_cancelled() override { on_cancel_ok(); }

    const config::Endpoint endpoint_;
    const config::Broker settings_;
    std::string queue_;  // that is asked; empty: none
    std::unique_ptr<Opening> opening_;
    std::unique_ptr<Connection> connection_;
    bool begun_ = false;  // the broker is asked
    std::optional<Result> result_;
    std::string why_unknown_;
    core::SteadyTime due_{};
};

}  // namespace retryd::amqp
