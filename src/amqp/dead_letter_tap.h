// Sees what consumers reject: a queue of this connection alone, bound to the exchanges that lead to the error queue,
// gets a copy of each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "amqp/events.h"
#include "config/settings.h"
#include "core/topology.h"

namespace retryd::amqp {

class Connection;

/// Every call throws Error when the connection is lost.
class DeadLetterTap : private Events {
  public:
    /// With the header table of a message that was rejected.
    using Sink = std::function<void(const core::Table& headers)>;

    /// Connects, declares `queue`, binds it as `exchanges` say (their queue is not looked at) and consumes. Where the
    /// broker refuses one of that, refusal() has its words and nothing is watched. `settings` must outlive it.
    DeadLetterTap(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                  const std::vector<core::BindingSpec>& exchanges);
    ~DeadLetterTap() override;
    DeadLetterTap(const DeadLetterTap&) = delete;
    DeadLetterTap& operator=(const DeadLetterTap&) = delete;

    const std::string& refusal() const { return refusal_; }

    /// Takes in what is there, without waiting.
    void turn(const Sink& sink);

    int fd() const;

  private:
    void await_answers(std::size_t number);

    void on_delivery(const core::Delivery& delivery) override;
    void on_declared(Channel, const QueueCounts&) override { ++answers_; }
    void on_consume_ok() override { ++answers_; }
    void on_channel_closed(const ChannelClosed& closed) override { refusal_ = closed.text; }

    std::unique_ptr<Connection> connection_;
    const Sink* sink_ = nullptr;
    std::string refusal_;
    std::size_t answers_ = 0;
};

}  // namespace retryd::amqp
